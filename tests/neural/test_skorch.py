"""`MeasureLoss` as skorch's ``criterion=``."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra torch")
skorch = pytest.importorskip("skorch", reason="needs skorch: pip install skorch")

from sklearn.datasets import make_classification  # noqa: E402

import steelyard.measures as m  # noqa: E402
from steelyard.neural import MeasureLoss  # noqa: E402


def two_columns(logits):
    """skorch knows what to do with logits for losses of PyTorch only; others say so by ``predict_nonlinearity=``."""
    positive = torch.sigmoid(logits)
    return torch.stack((1.0 - positive, positive), 1)


def test_as_the_criterion_of_skorch():
    torch.manual_seed(0)
    X, y = make_classification(2000, 10, n_informative=6, weights=[0.85], random_state=0)
    net = skorch.NeuralNetBinaryClassifier(
        torch.nn.Sequential(torch.nn.Linear(10, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1), torch.nn.Flatten(0)),
        criterion=MeasureLoss,
        criterion__measure=m.FBeta(1),
        predict_nonlinearity=two_columns,
        optimizer=torch.optim.Adam,
        lr=0.01,
        max_epochs=10,
        batch_size=64,
        verbose=0,
    ).fit(X.astype(np.float32), y)
    losses = [row["train_loss"] for row in net.history]
    assert losses[-1] < 0.7 * losses[0]
    assert m.FBeta(1).score(y, net.predict(X.astype(np.float32))) > 0.7
    assert 0.5 < float(net.criterion_.measure) < 1.0
