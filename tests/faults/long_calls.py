"""Every long call that a user can make: a table of names and functions that make it ready (data, an estimator, a path).

What is made ready is a `Call`; interrupts.py makes it in a process of its own and interrupts it. Modules are imported
where they are used, since most processes run one line of the table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Call:
    """What is interrupted: a function without arguments, and the object that must come out of it as it went in."""

    run: Callable[[], object]
    kept: Any = None


def binary(n: int, d: int = 20, seed: int = 0, dtype: str = "float64") -> tuple[Any, Any]:
    """Rows whose classes overlap and are not separated by a plane; one in four is positive."""
    import numpy as np

    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(dtype)
    return X, (X[:, 0] + 0.5 * X[:, 1] ** 2 + rng.standard_normal(n) > 1.4).astype(int)


def fit(make: Callable[[Any, Any], Any], n: int, d: int = 20, **how: Any) -> Callable[[], Call]:
    """fit of the estimator that ``make(sy, m)`` returns."""

    def ready() -> Call:
        import steelyard as sy
        import steelyard.measures as m

        X, y = binary(n, d, **how)
        estimator = make(sy, m)
        return Call(lambda: estimator.fit(X, y), estimator)

    return ready


def fit_unscaled(make: Callable[[Any, Any], Any], n: int, d: int) -> Callable[[], Call]:
    """The same with columns of very different units: solvers take many more steps."""

    def ready() -> Call:
        import numpy as np

        import steelyard as sy
        import steelyard.measures as m

        X, y = binary(n, d)
        X *= 10.0 ** np.random.default_rng(2).uniform(-3, 3, d)
        estimator = make(sy, m)
        return Call(lambda: estimator.fit(X, y), estimator)

    return ready


def fit_classes(make: Callable[[Any, Any], Any], n: int, d: int) -> Callable[[], Call]:
    """The same of three classes."""

    def ready() -> Call:
        import steelyard as sy
        import steelyard.measures as m

        X, y = binary(n, d)
        estimator = make(sy, m)
        return Call(lambda: estimator.fit(X, y + (X[:, 2] > 1.0)), estimator)

    return ready


def refit() -> Call:
    """An estimator that was fitted before: it keeps what it learnt then."""
    import steelyard as sy
    import steelyard.measures as m

    X, y = binary(400_000)
    estimator = sy.OnlineClassifier(m.FBeta(1), max_iter=2, random_state=0).fit(X[:1000], y[:1000])
    estimator.set_params(max_iter=5000)
    return Call(lambda: estimator.fit(X, y), estimator)


def partial_fits() -> Call:
    """One call of partial_fit after the other; a pass over rows in memory is over in less than a second."""
    import numpy as np

    import steelyard as sy
    import steelyard.measures as m

    X, y = binary(1000, 400)
    X, y = np.tile(X.astype("float32"), (300, 1)), np.tile(y, 300)
    learner = sy.OnlineClassifier(m.FBeta(1), random_state=0).partial_fit(X[:1000], y[:1000])

    def learn() -> None:
        while True:
            learner.partial_fit(X, y)

    return Call(learn)


def quantiles() -> Call:
    import steelyard as sy

    X, _ = binary(40_000, 60)
    path = sy.QuantilePath(C=10.0)
    return Call(lambda: path.fit(X, X[:, 0] + X[:, 1] ** 2), path)


def on_a_path(call: Callable[[Any, Any, Any, Any], object], n: int, **how: Any) -> Callable[[], Call]:
    """Something asked of a path that is fitted."""

    def ready() -> Call:
        import steelyard as sy
        import steelyard.measures as m

        X, y = binary(1500, 20)
        path = sy.CostPath(C=1.0, method="exact", **how).fit(X, y)
        X, y = binary(n, 20, seed=1)
        return Call(lambda: call(path, m, X, y), path)

    return ready


def targets() -> Call:
    """A third of the targets are right; they score higher along two of the columns."""
    import numpy as np

    import steelyard as sy

    rng = np.random.default_rng(0)
    n = 400_000  # more than are learned from whole
    X = rng.standard_normal((n, 20))
    is_target = rng.random(n) < 0.5
    X[is_target & (rng.random(n) < 0.33), :2] += 2.5
    classifier = sy.QValueClassifier(0.01, random_state=0)
    return Call(lambda: classifier.fit(X, is_target), classifier)


def grid(solver: str, loss: str = "hinge", n_jobs: int = 1, n: int = 200_000, d: int = 50) -> Callable[[], Call]:
    def ready() -> Call:
        from steelyard.solvers import cost_sensitive

        X, y = binary(n, d)
        costs = [(1.0, 0.1 * k) for k in range(1, 10)]
        how = {"solver": solver, "loss": loss, "n_jobs": n_jobs}
        return Call(lambda: cost_sensitive.solve_grid(X, 2.0 * y - 1.0, costs, [1e-3, 1e-1, 10.0], 1e-10, **how))

    return ready


def one_by_two() -> Call:
    """Two problems on two threads, and this one has the easy one: it waits, and must still hear."""
    from steelyard.solvers import cost_sensitive

    X, y = binary(200_000, 50)
    costs = [(1e-9, 1e-9), (1.0, 1.0)]
    how = {"solver": "coordinate", "n_jobs": 2}
    return Call(lambda: cost_sensitive.solve_grid(X, 2.0 * y - 1.0, costs, [100.0], 1e-12, **how))


def smo() -> Call:
    from steelyard.solvers.kernel import smo

    X, y = binary(20_000)
    return Call(lambda: smo.solve(smo.Kernel(X, "rbf", gamma=0.05), 2.0 * y - 1.0, 1.0, 0.0, 1000.0, tol=1e-6))


def kernel_product() -> Call:
    import numpy as np

    from steelyard.solvers.kernel import smo

    X, y = binary(60_000)
    kernel = smo.Kernel(X, "rbf", gamma=0.05)
    return Call(lambda: kernel.product(np.where(y > 0, 1.0, -0.5)))


def structural(loss: str, n: int, **how: Any) -> Callable[[], Call]:
    def ready() -> Call:
        import steelyard.measures as m
        from steelyard.solvers.structural import cutting_planes

        X, y = binary(n)
        aim = m.GMean() if loss == "gmean" else loss
        return Call(lambda: cutting_planes.solve(X, y > 0, aim, C=1000.0, tol=1e-12, max_iter=100_000, **how))

    return ready


def frontier() -> Call:
    import numpy as np

    from steelyard.statistics import frontier

    rng = np.random.default_rng(0)
    scores = rng.standard_normal(10_000_000)
    is_positive = scores > 1.0

    def scan() -> None:
        while True:
            frontier.scan(scores, is_positive)

    return Call(scan)


def exact_path(kernel: bool) -> Callable[[], Call]:
    def ready() -> Call:
        from steelyard.solvers.path import exact

        X, y = binary(4000, 30) if kernel else binary(160_000, 60)
        how = {"kernel": exact.PathKernel("rbf", 0.02)} if kernel else {}
        return Call(lambda: exact.trace(X, 2.0 * y - 1.0, C=10.0, **how))

    return ready


CASES: dict[str, Callable[[], Call]] = {
    "MeasureClassifier": fit(lambda sy, m: sy.MeasureClassifier(m.FBeta(1), random_state=0), 200_000, 200),
    "MeasureClassifier, two threads": fit(
        lambda sy, m: sy.MeasureClassifier(m.FBeta(1), random_state=0, n_jobs=2), 200_000, 200
    ),
    "MeasureClassifier, float32": fit(
        lambda sy, m: sy.MeasureClassifier(m.BAKLD(), random_state=0), 200_000, 200, dtype="float32"
    ),
    "MeasureClassifier, unscaled": fit_unscaled(
        lambda sy, m: sy.MeasureClassifier(m.FBeta(1), random_state=0), 100_000, 300
    ),
    "OnlineClassifier": fit(lambda sy, m: sy.OnlineClassifier(m.FBeta(1), max_iter=5000), 400_000),
    "MeasureClassifier, three classes": fit_classes(
        lambda sy, m: sy.MeasureClassifier(m.macro(m.FBeta(1)), random_state=0), 200_000, 100
    ),
    "OnlineClassifier, three classes": fit_classes(
        lambda sy, m: sy.OnlineClassifier(m.macro(m.FBeta(1)), max_iter=5000), 400_000, 20
    ),
    "OnlineClassifier, fitted before": refit,
    "OnlineClassifier.partial_fit": partial_fits,
    "OnlineClassifier, one point model at the boundary": fit(
        lambda sy, m: sy.OnlineClassifier(m.FBeta(1), solver="1pmb", max_iter=500), 400_000
    ),
    "StructuralSVM": fit(lambda sy, m: sy.StructuralSVM("kld", C=1000.0, tol=1e-12, max_iter=100_000), 300_000, 50),
    "StructuralSVM, a measure": fit(
        lambda sy, m: sy.StructuralSVM(m.GMean(), C=1000.0, tol=1e-12, max_iter=100_000), 300_000, 20
    ),
    "CostPath, exact": fit(lambda sy, m: sy.CostPath(C=10.0, method="exact"), 40_000, 60),
    "CostPath, approximate": fit(lambda sy, m: sy.CostPath(C=0.1, method="approximate", tol=1e-7), 300_000, 50),
    "CostPath, kernel": fit(lambda sy, m: sy.CostPath(C=10.0, kernel="rbf", gamma=0.05), 4000, 30),
    "CostPath.best": on_a_path(lambda path, m, X, y: path.best(m.FBeta(1), X, y), 400_000),
    "CostPath.rates": on_a_path(lambda path, m, X, y: path.rates(X, y), 400_000),
    "CostPath.predict_proba": on_a_path(lambda path, m, X, y: path.predict_proba(X), 400_000),
    "CostPath.predict_proba, kernel": on_a_path(
        lambda path, m, X, y: path.predict_proba(X), 100_000, kernel="rbf", gamma=0.05
    ),
    "QuantilePath": quantiles,
    "NeymanPearsonClassifier, rbf": fit(lambda sy, m: sy.NeymanPearsonClassifier(0.05, gamma=0.05), 20_000),
    "NeymanPearsonClassifier, delta": fit(
        lambda sy, m: sy.NeymanPearsonClassifier(0.05, gamma=0.05, delta=0.05, random_state=0), 20_000
    ),
    "NeymanPearsonClassifier, linear": fit(lambda sy, m: sy.NeymanPearsonClassifier(0.05, kernel="linear"), 20_000),
    "QValueClassifier": targets,
    "ThresholdClassifier": fit(
        lambda sy, m: sy.ThresholdClassifier(sy.OnlineClassifier(m.FBeta(1), max_iter=2000), m.FBeta(1)), 400_000
    ),
    "Quantifier": fit(lambda sy, m: sy.Quantifier(sy.OnlineClassifier(m.NegKLD(), max_iter=2000)), 400_000),
    "cost_sensitive.solve_grid, coordinate": grid("coordinate"),
    "cost_sensitive.solve_grid, coordinate, two threads": grid("coordinate", n_jobs=2),
    "cost_sensitive.solve_grid, one thread waits": one_by_two,
    "cost_sensitive.solve_grid, newton": grid("newton", "squared_hinge", d=200, n=50_000),
    "cost_sensitive.solve_grid, bundle": grid("bundle"),
    "cost_sensitive.solve_grid, bundle, two threads": grid("bundle", n_jobs=2),
    "smo.solve": smo,
    "smo.Kernel.product": kernel_product,
    "cutting_planes.solve": structural("kld", 300_000),
    "cutting_planes.solve, by the table": structural("kld", 20_000, search="table"),
    "cutting_planes.solve, a measure": structural("gmean", 300_000),
    "exact.trace": exact_path(kernel=False),
    "exact.trace, kernel": exact_path(kernel=True),
    "frontier.scan": frontier,
}
