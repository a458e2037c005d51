"""`MeasureLoss`: its gradient is that of the linearised objective, for every measure, batch and type of number."""

import copy
import io

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra torch")

import steelyard.measures as m  # noqa: E402
from steelyard.neural import MeasureLoss  # noqa: E402
from steelyard.solvers.stream.problem import REWARDS  # noqa: E402

NAMED = [cls() for cls in m.NAMED]
CONSTRAINTS = [m.fpr <= 0.1, m.fpr <= 0.1 * m.tpr, m.Precision() >= 0.8, m.tpr >= 0.7]


def batch(n=60, share=0.3, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.uniform(size=n) < share
    return torch.from_numpy(rng.normal(size=n) + 0.8 * y), torch.from_numpy(y)


def trained(*args, batches=3, **kwargs):
    loss = MeasureLoss(*args, **kwargs)
    for seed in range(batches):
        loss(*batch(seed=seed))
    return loss.eval()


def objective_weights(measure, rates, share, size):
    """Guarded, from the tree on numbers: what the linearised objective gives a negative and a positive row."""
    inside = lambda r: min(max(r, 1e-4), 1 - 1e-4)
    slopes = np.array(measure.gradient(inside(rates[0]), inside(rates[1]), share, sample_size=size))
    shares = np.array([share, 1 - share])
    if (slopes < 0).any():
        slopes = shares**0.75
    part = slopes / slopes.sum() if slopes.sum() > 0 else shares
    part = np.maximum(part, 0.25 * shares)
    return part / part.sum() / shares


@pytest.mark.parametrize("measure", NAMED, ids=repr)
def test_gradient_is_that_of_the_linearised_objective(measure):
    loss = trained(measure)
    s, y = batch(seed=9)
    s.requires_grad_()
    loss(s, y).backward()
    seen = [batch(seed=seed) for seed in range(3)]
    z, labels = (torch.cat(part).numpy() for part in zip(*seen, strict=True))
    rate = lambda good: (np.count_nonzero(good) + 0.5) / (len(good) + 1.0)
    rates = rate(z[labels] > 0), rate(z[~labels] < 0)
    share = (labels.sum() + 0.5) / (len(labels) + 1.0)
    positive, negative = objective_weights(measure, rates, share, len(labels))

    def objective(scores):
        weight = np.where(y.numpy(), positive, negative)
        margin = np.where(y.numpy(), scores, -scores)
        return float(np.mean(weight * np.log1p(np.exp(-margin))))

    at, step = s.detach().numpy(), 1e-6
    ahead = [objective(at + step * np.eye(len(at))[k]) for k in range(5)]
    behind = [objective(at - step * np.eye(len(at))[k]) for k in range(5)]
    np.testing.assert_allclose(float(loss(s, y).detach()), objective(at), rtol=1e-9)
    np.testing.assert_allclose(s.grad[:5], (np.array(ahead) - behind) / (2 * step), rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("measure", NAMED, ids=repr)
@pytest.mark.parametrize("reward", REWARDS)
def test_gradcheck(measure, reward):
    loss = trained(measure, reward=reward)
    s, y = batch(20, seed=4)
    assert torch.autograd.gradcheck(lambda s: loss(s, y), (s.requires_grad_(),))


@pytest.mark.parametrize("guard", [True, False])
@pytest.mark.parametrize("constraint", CONSTRAINTS, ids=repr)
def test_gradcheck_under_a_constraint(constraint, guard):
    loss = trained(
        m.Recall() if constraint is not CONSTRAINTS[3] else m.Specificity(), subject_to=constraint, guard=guard
    )
    s, y = batch(20, seed=4)
    assert torch.autograd.gradcheck(lambda s: loss(s, y), (s.requires_grad_(),))


@pytest.mark.parametrize(
    "measure", [f for f in NAMED if f.curvature not in ("unknown", "convex")], ids=repr
)  # to the letter only what NEMSIS and SCAN take
def test_gradcheck_to_the_letter(measure):
    loss = trained(measure, guard=False)
    s, y = batch(20, seed=4)
    assert torch.autograd.gradcheck(lambda s: loss(s, y), (s.requires_grad_(),))
    assert torch.isfinite(loss.duals.pull).all()
    assert loss.duals.pull.abs().sum() > 0


def test_to_the_letter_the_weights_start_at_zero_and_become_the_gradient():
    loss = MeasureLoss(m.GMean(), guard=False)
    s, y = batch(400)
    s.requires_grad_()
    loss(s, y).backward()
    assert float(s.grad.abs().sum()) == 0.0
    rates = m.rates(y, s.detach() > 0)
    slopes = m.GMean().gradient(rates.tpr, rates.tnr)
    np.testing.assert_allclose(loss.duals.pull, [slopes.tnr, slopes.tpr], rtol=1e-12)


def test_a_measure_of_no_known_curvature_needs_the_guard():
    MeasureLoss(m.NegCQB())
    with pytest.raises(ValueError, match="guard=True"):
        MeasureLoss(m.NegCQB(), guard=False)


def test_the_running_measure_is_that_of_all_batches():
    loss, parts = MeasureLoss(m.FBeta(1)), [batch(500, seed=seed) for seed in range(4)]
    for part in parts:
        loss(*part)
    s, y = (torch.cat(part) for part in zip(*parts, strict=True))
    assert abs(float(loss.measure) - m.FBeta(1).score(y, s > 0)) < 2e-3  # each rate is half a row from 1/2


def test_the_value_is_zero_for_a_perfect_classifier():
    y = torch.arange(10) % 2
    loss = MeasureLoss(m.QMeasure(), reward="hinge")
    assert float(loss(10.0 * (y - 0.5), y)) == 0.0
    assert float(MeasureLoss(m.QMeasure())(100.0 * (y - 0.5), y)) < 1e-12


# -- any batch ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "settings", [{}, {"guard": False}, {"dual_rates": "surrogate"}, {"subject_to": m.fpr <= 0.1}], ids=repr
)
@pytest.mark.parametrize("measure", [m.FBeta(1), m.NegKLD(), m.QMeasure(), m.GMean()], ids=repr)
def test_any_batch_will_do(measure, settings):
    if "subject_to" in settings and measure != m.FBeta(1):
        settings = {**settings, "prevalence": 0.2}
    loss = MeasureLoss(measure, **settings)
    torch.manual_seed(0)
    for n, p in ((1, 0), (1, 1), (256, 0.1), (64, 0), (64, 1), (0, 0), (1, 0), (32, 0.5), (5000, 0.01)):
        s = torch.randn(n, 1, requires_grad=True)
        y = (torch.rand(n, 1) < p).float()
        value = loss(s, y)
        value.backward()
        assert torch.isfinite(value), (n, p)
        assert torch.isfinite(s.grad).all(), (n, p)
    assert torch.isfinite(loss.measure)


def test_scores_that_are_not_finite_do_not_stay_in_the_state():
    loss = MeasureLoss(m.FBeta(1), dual_rates="surrogate")
    s, y = batch()
    s[0], s[1] = float("nan"), float("inf")
    loss(s, y)
    assert torch.isfinite(loss.duals.tally).all()
    assert torch.isfinite(loss(*batch()))


@pytest.mark.parametrize("labels", [torch.bool, torch.int64, torch.float32, torch.uint8])
def test_labels_of_any_type_and_shape(labels):
    s, y = batch(24)
    expected = MeasureLoss(m.FBeta(1))(s, y)
    y = y.to(labels)
    for scores, truth in ((s[:, None], y), (s, y[:, None]), (s[:, None], y[:, None]), (s.view(4, 6), y.view(4, 6))):
        assert float(MeasureLoss(m.FBeta(1))(scores, truth)) == float(expected)


def test_shapes_that_do_not_agree_are_refused():
    loss = MeasureLoss(m.FBeta(1))
    with pytest.raises(ValueError, match=r"shape \(4, 6\), and labels \(6, 4\)"):
        loss(torch.zeros(4, 6), torch.zeros(6, 4))
    with pytest.raises(TypeError, match="float"):
        loss(torch.zeros(4, dtype=torch.int64), torch.zeros(4))


def test_parameters_that_are_none():
    for bad, match in (
        ({"measure": "f1"}, "FBeta"),
        ({"measure": m.FBeta(1), "dual_rates": "x"}, "counts"),
        ({"measure": m.FBeta(1), "prevalence": 1.5}, "share"),
        ({"measure": m.FBeta(1), "reward": "x"}, "reward is one of"),
        ({"measure": m.FBeta(1), "subject_to": [m.fpr <= 0.1, m.tpr >= 0.1]}, "one constraint"),
        ({"measure": m.FBeta(1), "subject_to": m.GMean() >= 0.1}, "not linear"),
    ):
        with pytest.raises((TypeError, ValueError), match=match):
            MeasureLoss(**bad)


def test_weights_stand_for_rows():
    s, y = batch(50)
    times = torch.from_numpy(np.random.default_rng(1).integers(0, 4, 50))
    for settings in ({}, {"guard": False}):
        one, two = MeasureLoss(m.FBeta(1), **settings), MeasureLoss(m.FBeta(1), **settings)
        for _ in range(3):
            weighted, repeated = one(s, y, times), two(s.repeat_interleave(times), y.repeat_interleave(times))
            torch.testing.assert_close(weighted, repeated)


def test_a_known_prevalence_undoes_a_balanced_sampler():
    """Batches with half positives, and a population with a tenth: the measure is taken at a tenth."""
    s, y = batch(4000, share=0.5)
    loss = MeasureLoss(m.FBeta(1), prevalence=0.1)
    loss(s, y)
    rates = m.rates(y, s > 0)
    assert abs(float(loss.measure) - m.FBeta(1)(rates.tpr, rates.tnr, 0.1)) < 1e-3
    slopes = m.FBeta(1).gradient(rates.tpr, rates.tnr, 0.1)
    neg, pos = (loss.duals.pull * torch.tensor([1 - rates.prevalence, rates.prevalence])).tolist()
    assert abs(pos / neg - slopes.tpr / slopes.tnr) < 1e-2


# -- types of numbers, devices, copies ----------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32])
def test_half_precision(kind):
    s, y = batch(2048)
    s = s.to(kind).requires_grad_()
    loss = MeasureLoss(m.BAKLD()).to(kind)
    for _ in range(40):
        value = loss(s, y)
    value.backward()
    assert value.dtype == torch.float32
    assert s.grad.dtype == kind
    assert torch.isfinite(s.grad).all()
    assert loss.duals.tally.dtype == torch.float64
    assert float(loss.duals.tally[0, 0]) == 40 * 2048  # more rows than half precision can count


def test_autocast():
    torch.manual_seed(0)
    model, loss = torch.nn.Linear(4, 1), MeasureLoss(m.FBeta(1))
    X, y = torch.randn(64, 4), torch.rand(64) < 0.3
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = loss(model(X), y)
    value.backward()
    assert value.dtype == torch.float32
    assert torch.isfinite(model.weight.grad).all()


def test_gradients_accumulate():
    torch.manual_seed(0)
    model, loss = torch.nn.Linear(4, 1).double(), MeasureLoss(m.FBeta(1))
    X, y = torch.randn(60, 4, dtype=torch.double), torch.rand(60) < 0.3
    loss(model(X), y)
    loss.eval()  # the weights stay, so that the parts add up to the whole
    loss(model(X), y).backward()
    whole = model.weight.grad.clone()
    model.zero_grad()
    for part in range(3):
        (loss(model(X[20 * part : 20 * part + 20]), y[20 * part : 20 * part + 20]) / 3).backward()
    torch.testing.assert_close(model.weight.grad, whole)


def test_eval_mode_learns_nothing():
    loss = trained(m.FBeta(1))
    before = copy.deepcopy(loss.state_dict())
    loss(*batch(seed=7))
    assert all(torch.equal(value, before[name]) for name, value in loss.state_dict().items())


@pytest.mark.parametrize("settings", [{}, {"guard": False}, {"subject_to": m.fpr <= 0.1}], ids=repr)
def test_a_checkpoint_carries_the_state(settings):
    loss = MeasureLoss(m.BAKLD(), **settings)
    for seed in range(3):
        loss(*batch(seed=seed))
    file = io.BytesIO()
    torch.save(loss.state_dict(), file)
    file.seek(0)
    again = MeasureLoss(m.BAKLD(), **settings)
    again.load_state_dict(torch.load(file, weights_only=True))
    for seed in range(3, 6):
        assert float(loss(*batch(seed=seed))) == float(again(*batch(seed=seed)))
    assert float(copy.deepcopy(loss).measure) == float(loss.measure)


def test_forgetting_lets_the_weights_follow_the_model_as_it_is():
    loss = MeasureLoss(m.FBeta(1))
    s, y = batch(1000)
    loss(-s, y)
    bad = float(loss.measure)
    loss.forget()
    loss(s, y)
    assert float(loss.measure) > bad + 0.2
    assert float(loss.duals.sample_size()) == 2000


def test_under_a_cap_the_multiplier_rises_while_it_is_broken():
    loss = MeasureLoss(m.Recall(), subject_to=m.fpr <= 0.01)
    s, y = batch(1000)
    loss(s + 3.0, y)
    high = float(loss.duals.multiplier)
    for _ in range(200):
        loss(s - 10.0, y)
    assert high > 1.0 > float(loss.duals.multiplier)


def test_repr_names_the_measure():
    assert "Recall(), subject_to=fpr <= 0.1" in repr(MeasureLoss(m.Recall(), subject_to=m.fpr <= 0.1))
