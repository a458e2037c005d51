"""Section 5.6 of Gasso et al. (2011): targets accepted at a q-value, by a network and by a kernel, on psm-scope2.

Their network has one hidden layer of five units and a sigmoid loss (qNNOpt), their kernel machine a ramp loss
(qSVMOpt); the opponent was qRanker, a network trained to rank. Here: that network by `NeuralMeasureClassifier` for
the recall under ``decoys / targets <= q``, which is a precision of at least 1 / (1 + q); the same network trained by
cross-entropy, targets against decoys; `QValueClassifier`, linear and with its rbf contenders; and a Percolator loop.
The protocol is that of `qvalue.py`: three folds of whole scans, scales made equal, the best row of each scan, and the
number of targets accepted at each rate. Needs PyTorch.

    python benchmarks/qvalue_network.py [seeds]

Results are kept in ``results/qvalue_network.json`` after every run and seed.
"""

import json
import sys
import warnings

import torch
from sklearn.model_selection import GroupShuffleSplit

import steelyard as sy
import steelyard.measures as m
from _run import RESULTS, machine
from qvalue import measure, ours, percolator, table

TABLES = ("psm-scope2 run 0", "psm-scope2 run 1", "psm-scope2 run 2")
UNITS = 5  # the paper's
EPOCHS, BATCH = 40, 256  # the rows of a batch for cross-entropy


def five_units(n_cols):
    return torch.nn.Sequential(torch.nn.Linear(n_cols, UNITS), torch.nn.Tanh(), torch.nn.Linear(UNITS, 1))


def for_the_rate(X, is_target, scan, rate):
    """qNNOpt."""
    split = next(GroupShuffleSplit(1, test_size=0.2, random_state=0).split(X, is_target, scan))
    return sy.NeuralMeasureClassifier(
        m.Recall(), subject_to=m.Precision() >= 1.0 / (1.0 + rate), module=five_units, reward="sigmoid", cv=[split],
        members=1, max_epochs=EPOCHS, random_state=0,
    ).fit(X, is_target).decision_function  # fmt: skip


def cross_entropy(X, is_target, scan, rate):
    torch.manual_seed(0)
    network, loss = five_units(X.shape[1]), torch.nn.BCEWithLogitsLoss()
    steps = torch.optim.Adam(network.parameters(), 3e-3)
    rows, labels = torch.tensor(X, dtype=torch.float32), torch.tensor(is_target, dtype=torch.float32)
    for _ in range(EPOCHS):
        for part in torch.randperm(len(rows)).split(BATCH):
            steps.zero_grad()
            loss(network(rows[part]).ravel(), labels[part]).backward()
            steps.step()
    with torch.no_grad():
        return lambda new: network(torch.tensor(new, dtype=torch.float32)).detach().numpy().ravel()


CONTENDERS = {
    "Percolator loop": percolator,
    "network, cross-entropy": cross_entropy,
    "network, for the rate": for_the_rate,
    "QValueClassifier": ours(),
    "QValueClassifier, rbf": ours(kernel="rbf"),
}


def main(arguments):
    warnings.simplefilter("ignore")
    path = RESULTS / "qvalue_network.json"
    tables = json.loads(path.read_text())["tables"] if path.exists() else {}
    for seed in map(int, arguments or ("0", "1", "2", "3", "4")):
        for name in TABLES:
            held = tables.setdefault(name, {}).setdefault(str(seed), {})
            for who, fit in CONTENDERS.items():
                if who not in held:
                    held[who] = measure(fit, *table(name), seed)
                    print(name, seed, who, held[who], flush=True)
                    path.write_text(json.dumps({"machine": machine(), "tables": tables}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
