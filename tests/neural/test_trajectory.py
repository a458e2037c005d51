"""On a linear module, row by row, `MeasureLoss` goes where the compiled stream learner goes."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra torch")

import steelyard.measures as m  # noqa: E402
from steelyard.neural import MeasureLoss  # noqa: E402
from steelyard.neural.duals import Duals  # noqa: E402
from steelyard.solvers.stream.learner import Learner  # noqa: E402
from steelyard.solvers.stream.problem import Problem, choose_solver  # noqa: E402

ROWS, COLUMNS, ETA = 400, 5, 0.1
RNG = np.random.default_rng(0)
X = np.column_stack([RNG.normal(size=(ROWS, COLUMNS - 1)), np.ones(ROWS)])
Y = X[:, 0] + 0.5 * RNG.normal(size=ROWS) > 0.8
WEIGHT = RNG.uniform(0.5, 2.0, ROWS)

CASES = [
    (m.FBeta(1), None, {}),
    (m.BAKLD(), None, {}),
    (m.GMean(), None, {"reward": "logistic"}),
    (m.CQReward(), None, {"counts": False}),
    (m.BAKLD(), None, {"weighted": True}),
    (m.QMeasure(), None, {"guard": False}),
    (m.BAKLD(), None, {"guard": False}),
    (m.GMean(), None, {"guard": False, "counts": False, "reward": "logistic"}),
    (m.Recall(), m.fpr <= 0.1, {}),
    (m.Recall(), m.fpr <= 0.1, {"counts": False}),
    (m.Recall(), m.fpr <= 0.1, {"weighted": True}),
    (m.Recall(), m.fpr <= 0.1, {"guard": False}),
    (m.Recall(), m.fpr <= 0.1, {"guard": False, "reward": "sigmoid"}),
    (m.Recall(), m.fpr <= 0.1 * m.tpr, {}),
    (m.Recall(), m.fpr <= 0.1 * m.tpr, {"guard": False, "reward": "erf"}),
    (m.Recall(), m.Precision() >= 0.8, {}),
    (m.Specificity(), m.tpr >= 0.8, {}),
]


def by_the_stream(measure, constraint, guard, reward, counts, weight):
    solver = choose_solver(measure, constraint, guard)
    problem = Problem(
        measure, constraint, solver, reward=reward, counts=counts, guard=guard, eta0=ETA, average=False, refresh=1,
        fit_intercept=False,
    )  # fmt: skip
    learner = Learner(problem, COLUMNS)
    learner.learn(X, np.where(Y, 1, -1).astype(np.int8), weight)
    return np.asarray(learner._core.coefficients(False))


@pytest.mark.parametrize("form", ["numbers", "tensors"])
@pytest.mark.parametrize(("measure", "constraint", "settings"), CASES, ids=str)
def test_the_trajectory_is_that_of_the_compiled_loop(measure, constraint, settings, form, monkeypatch):
    """On a processor the guarded weights are plain numbers; elsewhere they are tensors."""
    settings = dict(settings)
    if form == "tensors":
        monkeypatch.setattr(Duals, "reads_numbers", lambda self: False)
    elif not settings.get("guard", True):
        pytest.skip("to the letter there are tensors only")
    weight = WEIGHT if settings.pop("weighted", False) else None
    guard, counts, reward = settings.get("guard", True), settings.get("counts", True), settings.get("reward", "hinge")
    expected = by_the_stream(measure, constraint, guard, reward, counts, weight)
    model = torch.nn.Linear(COLUMNS, 1, bias=False).double()
    torch.nn.init.zeros_(model.weight)
    rates = "counts" if counts else "surrogate"
    loss = MeasureLoss(measure, subject_to=constraint, guard=guard, reward=reward, dual_rates=rates)
    rows, labels = torch.from_numpy(X), torch.from_numpy(Y)
    for t in range(ROWS):
        row_weight = None if weight is None else torch.tensor([weight[t]], dtype=torch.double)
        value = loss(model(rows[t : t + 1]), labels[t : t + 1], row_weight)
        (gradient,) = torch.autograd.grad(value, model.weight)
        eta = ETA / np.sqrt(t + 1) if constraint is None else ETA
        if weight is not None:  # the mean over a batch of one row divides by its weight
            eta *= weight[t]
        with torch.no_grad():
            model.weight -= eta * gradient
    assert np.abs(expected).max() > 0.5
    np.testing.assert_allclose(model.weight.detach().numpy()[0], expected, rtol=1e-9, atol=1e-11)
