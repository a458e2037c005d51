"""The exact threshold on tensors against the compiled scan: every measure, ties, weights, constraints."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="rows in tensors need torch (pip install steelyard[torch])")

import steelyard.measures as m  # noqa: E402
from steelyard.statistics import frontier  # noqa: E402
from steelyard.tensors import frontier as on_tensors  # noqa: E402
from steelyard.tensors.tape import evaluate  # noqa: E402


def scored(n=3000, ties=False, seed=0):
    rng = np.random.default_rng(seed)
    is_positive = rng.random(n) < 0.2
    scores = (rng.normal(size=n) + 1.2 * is_positive).astype(np.float32)
    return (np.round(scores, 1) if ties else scores), is_positive


@pytest.mark.parametrize("name", sorted(m.NAMED) if isinstance(m.NAMED, dict) else [c.__name__ for c in m.NAMED])
def test_a_tape_on_tensors_is_the_tree(name):
    kind = m.NAMED[name] if isinstance(m.NAMED, dict) else next(c for c in m.NAMED if c.__name__ == name)
    measure = kind()
    rng = np.random.default_rng(0)
    tpr, tnr = np.r_[0.0, 0.0, 1.0, 1.0, rng.random(50)], np.r_[0.0, 1.0, 0.0, 1.0, rng.random(50)]
    wanted = measure(tpr, tnr, 0.2, sample_size=500)
    found = evaluate(measure, torch.from_numpy(tpr), torch.from_numpy(tnr), 0.2, 500)
    np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("measure", "constraints"),
    [
        (m.FBeta(1), ()),
        (m.NegKLD(), ()),
        (m.Recall(), (m.fpr <= 0.05,)),
        (m.BAKLD(weight=0.5), (m.Precision() >= 0.5,)),
        (m.tpr, ()),
    ],
)
def test_the_best_point_is_that_in_memory(measure, constraints, ties, weighted):
    scores, is_positive = scored(ties=ties)
    weight = np.random.default_rng(1).integers(0, 3, len(scores)).astype(float) if weighted else None
    here = frontier.scan(scores, is_positive, weight)
    best = frontier.best_point(here, measure, constraints)
    tensors = [None if part is None else torch.from_numpy(part) for part in (scores, is_positive, weight)]
    there = on_tensors.scan(*tensors)
    found = there.best(measure, constraints)
    assert found.value == pytest.approx(best.value, rel=1e-12)
    assert (found.tpr, found.tnr) == pytest.approx((best.tpr, best.tnr), abs=1e-12)
    assert ((scores > found.threshold) == (scores > best.threshold)).all()
    assert there.prevalence == pytest.approx(here.prevalence)
    assert there.n_rows == here.n_rows


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("measure", [m.BAKLD(), m.NegKLD(), m.NSS(), 0.3 * m.GMean() + 0.7 * m.NSS()], ids=repr)
@pytest.mark.parametrize("seed", range(4))
def test_bounds_leave_the_best_point_in(measure, weighted, ties, seed, monkeypatch):
    monkeypatch.setattr(on_tensors, "BLOCK", 16)
    monkeypatch.setattr(on_tensors, "FEWEST", 0)
    assert measure.curvature == "concave"
    scores, is_positive = scored(3001 + seed, ties=ties, seed=seed)  # a last block that is not full
    weight = np.random.default_rng(1).integers(0, 3, len(scores)).astype(float) if weighted else None
    there = on_tensors.scan(
        *(None if part is None else torch.from_numpy(part) for part in (scores, is_positive, weight))
    )
    best = frontier.best_point(frontier.scan(scores, is_positive, weight), measure)
    found = there.best(measure)
    assert found.value == pytest.approx(best.value, rel=1e-12)
    assert ((scores > found.threshold) == (scores > best.threshold)).all()
    assert 0 < len(there._promising(measure)) < (1000 if ties else 500)


def test_a_thinned_frontier_lies_on_the_whole_one():
    scores, is_positive = scored(100_000)
    here = frontier.scan(scores, is_positive)
    thin = on_tensors.scan(torch.from_numpy(scores), torch.from_numpy(is_positive)).thinned()
    assert 2000 < len(thin) < 5000
    for k in range(0, len(thin), 200):
        called = scores > thin.thresholds[k]
        assert thin.tpr[k] == pytest.approx(called[is_positive].mean())
        assert thin.tnr[k] == pytest.approx(1 - called[~is_positive].mean())
    assert frontier.best_point(thin, m.FBeta(1)).value == pytest.approx(
        frontier.best_point(here, m.FBeta(1)).value, abs=1e-3
    )


def test_what_cannot_be_met_is_told_with_the_closest_point():
    scores, is_positive = (torch.from_numpy(part) for part in scored())
    with pytest.raises(frontier.InfeasibleError, match="closest") as error:
        on_tensors.scan(scores, is_positive).best(m.FBeta(1), (m.tpr >= 0.99, m.fpr <= 0.01))
    assert error.value.closest is not None
    with pytest.raises(ValueError, match="none of the 3000 scored rows is positive"):
        on_tensors.scan(scores, torch.zeros_like(is_positive))
    scores[5] = np.nan
    with pytest.raises(ValueError, match="first is row 5"):
        on_tensors.scan(scores, is_positive)


@pytest.mark.parametrize("weighted", [False, True])
def test_quantiles_are_those_in_memory(weighted):
    from steelyard.solvers.search.models import quantiles

    scores, _ = scored()
    weight = np.random.default_rng(1).random(len(scores)) if weighted else None
    for share in (0.0, 0.1, 0.5, 0.9, 1.0):
        wanted = quantiles(scores[:, None].astype(float), np.array([share]), weight)[0, 0]
        found = on_tensors.quantile(
            torch.from_numpy(scores), share, None if weight is None else torch.from_numpy(weight)
        )
        assert found == pytest.approx(wanted, abs=1e-6)
