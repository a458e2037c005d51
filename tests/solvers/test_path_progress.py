"""Who watches a path is told where it is, may end it, and changes nothing."""

import re

import numpy as np
import pytest

import steelyard as sy
from steelyard.rows import Rows
from steelyard.solvers.path import approximate, exact
from steelyard.solvers.path.problem import PathKernel


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8000, 40))
    return X, np.where(X[:, 0] + 2.0 * rng.normal(size=8000) > 0, 1.0, -1.0)


def trace(rows, way, callback=None):
    X, y = rows
    if way == "kernel":
        return exact.trace(X[:800], y[:800], 1.0, (0.2, 0.8), kernel=PathKernel("rbf", 0.1), callback=callback)
    if way == "exact":
        return exact.trace(Rows.of(X).with_constant(), y, 1.0, (0.2, 0.8), callback=callback)
    return approximate.trace(Rows.of(X[:2000]).with_constant(), y[:2000], 1.0, (0.2, 0.8), 1e-5, callback=callback)


WAYS = ("exact", "kernel", "approximate")


@pytest.mark.parametrize("way", WAYS)
def test_a_path_says_how_far_it_is(rows, way):
    seen = []
    path = trace(rows, way, seen.append)
    assert len(seen) > 1
    for one in seen:
        assert one.share == pytest.approx((one.tau - 0.2) / 0.6)
        assert 0.2 <= one.tau <= 0.8
        assert 0 <= one.n_models <= len(path.kinks)
    assert [one.tau for one in seen] == sorted(one.tau for one in seen)
    np.testing.assert_array_equal(path.kinks, trace(rows, way).kinks)


class EnoughError(Exception):
    pass


@pytest.mark.parametrize("way", WAYS)
def test_who_watches_may_end_it(rows, way):
    """An exception passes through the core as it is, and leaves its locks free."""

    def end(state):
        raise EnoughError

    with pytest.raises(EnoughError):
        trace(rows, way, end)
    trace(rows, way)


def test_an_estimator_prints_a_line_now_and_then(rows, capsys):
    X, y = rows
    sy.CostPath(verbose=2, random_state=0).fit(X, y)
    *during, last = capsys.readouterr().err.splitlines()
    assert during
    assert all(re.match(r"about \d+ %.*: CostPath, tau 0[.\d]*, [\d,]+ kinks$", line) for line in during)
    assert any("s left" in line for line in during)
    assert "kinks for tau in [0, 1], solved" in last
    sy.QuantilePath(verbose=2, random_state=0).fit(X[:4000], X[:4000, 0] + y[:4000])
    assert "QuantilePath, tau " in capsys.readouterr().err
    sy.CostPath(random_state=0).fit(X[:300], y[:300])
    assert capsys.readouterr() == ("", "")
