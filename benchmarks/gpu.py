"""Grids, thresholds and the measure classifier on rows that are on a GPU.

Claims, on 50,000,000 x 54 float32 on an NVIDIA H200: the grid of 9 cost ratios x 8 Cs, every problem certified to a
relative gap of 1e-3, in at most 4 s; a round for nine ratios (a pass over all rows, and Newton on the sample) in at
most 20 ms; `MeasureClassifier` in at most 20 s; the exact threshold of all scores in at most 10 ms. The opponent is one
logistic regression by torch's LBFGS on the same device, and its exact threshold.

    python benchmarks/gpu.py [parts] [--rows N]        parts: check kernel threshold round grid opponent classifier path
    bundle
"""

import argparse
import time

import numpy as np
import torch

import steelyard as sy
import steelyard.measures as m
from _run import write
from steelyard.elsewhere import newton
from steelyard.elsewhere.models import Models
from steelyard.solvers.linear import cost_sensitive
from steelyard.tensors import frontier, kernels, passes, source
from steelyard.tensors.rows import SignedRows, TensorRows
from steelyard.tensors.source import OnDevice

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
RATIOS = [(2 * (1 - t), 2 * t) for t in np.linspace(0.1, 0.9, 9)]
CS = np.logspace(-3, 1, 8)
TOL = 1e-3
COLUMNS = 54
BLOCK = 1 << 20
TEST = 1_000_000  # rows kept for judging models


def data(n, seed=0):
    """Correlated columns, a fifth of positives, a boundary that bends, and labels of which some are wrong."""
    random = torch.Generator(device=DEVICE).manual_seed(seed)
    mix = torch.randn(COLUMNS, COLUMNS, generator=random, device=DEVICE) / COLUMNS**0.5 + torch.eye(
        COLUMNS, device=DEVICE
    )
    w, u = (torch.randn(COLUMNS, generator=random, device=DEVICE) / COLUMNS**0.5 for _ in range(2))
    X, y = torch.empty((n, COLUMNS), device=DEVICE), torch.empty(n, dtype=torch.bool, device=DEVICE)
    for k in range(0, n, BLOCK):
        size = min(BLOCK, n - k)
        x = torch.randn(size, COLUMNS, generator=random, device=DEVICE) @ mix
        score = x @ w + 0.3 * (x @ u) ** 2 + 0.7 * torch.randn(size, generator=random, device=DEVICE)
        X[k : k + size] = x
        y[k : k + size] = (score > 2.0) ^ (torch.rand(size, generator=random, device=DEVICE) < 0.02)
    return X, y


def synchronise():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def timed(job, repeats=5):
    """Seconds, the median; the first call is not counted."""
    job()
    times = []
    for _ in range(repeats):
        synchronise()
        start = time.perf_counter()
        job()
        synchronise()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def nine(rows, seed=0):
    rng = np.random.default_rng(seed)
    costs = np.array(RATIOS)[:, ::-1]
    return Models(0.1 * rng.normal(size=(9, rows.n_cols)), np.ascontiguousarray(costs), np.full(9, 0.05))


def check(X, y):
    """The fused pass against products in double, and a grid against the CPU's, on a part."""
    part = slice(0, min(len(X), 1_000_000))
    signs = torch.where(y[part], 1, -1)
    out = {}
    for loss in cost_sensitive.LOSSES:
        single = SignedRows.of(TensorRows.of(X[part]).with_constant(1.0), signs)
        double = SignedRows.of(TensorRows.of(X[part].double()).with_constant(1.0), signs)
        models = nine(single.rows)
        one, other = passes.read(single, loss, models), passes.read(double, loss, models)
        out[loss] = {
            name: float(np.abs(getattr(one, name) - getattr(other, name)).max() / np.abs(getattr(other, name)).max())
            for name in ("risk", "dual", "v")
        }
    small = slice(0, min(len(X), 200_000))
    there = cost_sensitive.solve_grid(
        TensorRows.of(X[small]).with_constant(1.0), torch.where(y[small], 1, -1), RATIOS[::4], CS[::3], TOL
    )
    host = np.c_[X[small].cpu().numpy(), np.ones(small.stop, dtype=np.float32)]
    here = cost_sensitive.solve_grid(host, np.where(y[small].cpu().numpy(), 1.0, -1.0), RATIOS[::4], CS[::3], TOL)
    out["grid"] = {
        "largest_gap": float(max(one.gap for one in there)),
        "largest_difference": max(abs(a.objective / b.objective - 1) for a, b in zip(there, here, strict=True)),
    }
    return out


def kernel(X, y):
    """Milliseconds of a pass for nine models, fused in several shapes, and as plain products."""
    signed = SignedRows.of(TensorRows.of(X).with_constant(1.0), torch.where(y, 1, -1))
    models, out = nine(signed.rows), {}
    if kernels.suits(signed, 9):
        shape = kernels.BLOCK, kernels.LOOPS, kernels.WARPS, kernels.STAGES
        for block, warps, stages in [
            (32, 1, 4), (32, 2, 4), (64, 1, 3), (64, 2, 2), (64, 2, 3), (64, 2, 4), (64, 4, 3), (128, 4, 3),
        ]:  # fmt: skip
            kernels.BLOCK, kernels.WARPS, kernels.STAGES, kernels.LOOPS = block, warps, stages, 2048 // block
            try:
                out[f"{block} rows, {warps} warps, {stages} stages"] = 1e3 * timed(
                    lambda: passes.read(signed, "hinge", models)
                )
            except Exception as error:  # a shape that does not fit
                out[f"{block} rows, {warps} warps, {stages} stages"] = type(error).__name__
        kernels.BLOCK, kernels.LOOPS, kernels.WARPS, kernels.STAGES = shape
    suits, kernels.suits = kernels.suits, lambda data, count: False
    out["plain products"] = 1e3 * timed(lambda: passes.read(signed, "hinge", models), 3)
    kernels.suits = suits
    out["one read (sum of X)"] = 1e3 * timed(lambda: X.sum())
    return out


def grid(X, y):
    """The 9 x 8 grid for each loss, and what a round of it takes."""
    rows, signs = TensorRows.of(X).with_constant(1.0), torch.where(y, 1, -1)
    out = {}
    for loss in cost_sensitive.LOSSES:
        rounds = []
        once = passes.read

        def counted(*args, once=once, rounds=rounds):
            rounds.append(len(args[2]))
            return once(*args)

        source.read = counted
        found = cost_sensitive.solve_grid(rows, signs, RATIOS, CS, TOL, loss=loss)
        source.read = once
        seconds = timed(lambda loss=loss: cost_sensitive.solve_grid(rows, signs, RATIOS, CS, TOL, loss=loss), 3)
        out[loss] = {
            "seconds": seconds,
            "passes": len(rounds),
            "ms_a_round": 1e3 * seconds / len(rounds),
            "largest_gap": float(max(one.gap for one in found)),
            "certified": int(sum(one.gap <= TOL for one in found)),
            "problems": len(found),
        }
    return out


def threshold(X, y):
    """Milliseconds for the exact threshold of all scores: sort, rates and measure of every point."""
    scores = TensorRows.of(X).scores(np.random.default_rng(0).normal(size=COLUMNS))
    out = {}
    for name, measure, constraints in (
        ("F1", m.FBeta(1), ()), ("BAKLD", m.BAKLD(weight=0.5), ()), ("recall", m.Recall(), (m.fpr <= 0.01,)),
    ):  # fmt: skip
        out[name] = 1e3 * timed(lambda f=measure, c=constraints: frontier.scan(scores, y).best(f, c))
    out["scan alone"] = 1e3 * timed(lambda: frontier.scan(scores, y))
    out["a sort"] = 1e3 * timed(lambda: torch.sort(scores))
    return out


def a_round(X, y):
    """One pass over all rows for nine ratios, and Newton on the sample that follows it, from one C to the next."""
    signed = SignedRows.of(TensorRows.of(X).with_constant(1.0), torch.where(y, 1, -1))
    engine = newton.Lockstep(OnDevice(signed), "hinge", TOL)
    pairs = np.ascontiguousarray(np.array(RATIOS)[:, ::-1])
    engine.solve(pairs, CS[:1])
    found = [each[0].w for each in engine.found]
    models = Models(np.array(found), pairs, engine.mu)

    def job():
        reading = passes.read(signed, "hinge", models)
        problem = newton.Problem(engine.sample, "hinge", CS[1] * pairs, TOL)
        problem.v, problem.primal = CS[1] * reading.v, reading.primal_at(models, CS[1])
        return problem.solve(models.w, models.mu)[2]

    steps = job()
    return {
        "pass_ms": 1e3 * timed(lambda: passes.read(signed, "hinge", models)),
        "round_ms": 1e3 * timed(job),
        "newton_steps": steps,
        "sample_rows": engine.sample.n,
    }


def bundle(X, y):
    """What a round of the bundle takes for nine ratios: look, line search, move and cuts, by plain products."""
    rows, signs, rounds = TensorRows.of(X).with_constant(1.0), torch.where(y, 1, -1), 5

    def job():
        return cost_sensitive.solve_grid(rows, signs, RATIOS, [1e-6], TOL, solver="bundle", max_passes=2 * rounds)

    return {"ms_a_round": 1e3 * timed(job, 1) / rounds}


def classifier(X, y):
    """`MeasureClassifier` for F1, and what it is worth on rows that nobody fitted."""
    test, train = slice(len(X) - TEST, None), slice(0, len(X) - TEST)
    out = {}
    for name, options in (("auto", {}), ("hinge", {"loss": "hinge"})):
        model = sy.MeasureClassifier(m.FBeta(1), random_state=0, n_jobs=-1, **options)
        synchronise()
        start = time.perf_counter()
        model.fit(X[train], y[train])
        synchronise()
        seconds = time.perf_counter() - start
        out[name] = {
            "seconds": seconds, "loss": model.loss_, "C": model.C_, "gap": model.gap_, "F1_left_out": model.best_score_,
            "F1_new_rows": f1(model.predict(X[test]), y[test]),
            "predict_ms": 1e3 * timed(lambda model=model: model.predict(X[train])),
        }  # fmt: skip
    return out


def path(X, y):
    """The approximate cost path, certified at every tau."""
    out = {}
    for C in (1e-4, 1e-2):
        start = time.perf_counter()
        found = sy.CostPath(C=C, method="approximate", random_state=0).fit(X, y)
        synchronise()
        out[f"C = {C:g}"] = {"seconds": time.perf_counter() - start, "knots": len(found.kinks_), "gap": found.gap_}
    return out


def f1(called, y):
    hits = int((called & y).sum())
    return 2 * hits / (int(called.sum()) + int(y.sum()))


def opponent(X, y):
    """One logistic regression by LBFGS (C = 1, as scikit-learn counts it), until its steps end, and its threshold."""
    X, y, X_test, y_test = X[:-TEST], y[:-TEST], X[-TEST:], y[-TEST:]
    target, n = y.to(torch.float32), len(y)
    w = torch.zeros(COLUMNS + 1, device=DEVICE, requires_grad=True)
    steps = torch.optim.LBFGS([w], max_iter=100, line_search_fn="strong_wolfe", tolerance_grad=1e-6)

    def closure():
        steps.zero_grad()
        scores = X @ w[:-1] + w[-1]
        lost = torch.nn.functional.binary_cross_entropy_with_logits(scores, target) + 0.5 * (w @ w) / n
        lost.backward()
        return lost

    synchronise()
    start = time.perf_counter()
    steps.step(closure)
    synchronise()
    fitted = time.perf_counter() - start
    with torch.no_grad():
        found = frontier.scan(X @ w[:-1] + w[-1], y).best(m.FBeta(1))
        called = X_test @ w[:-1] + w[-1] > found.threshold
    evaluations = int(steps.state[w]["func_evals"])
    return {"seconds": fitted, "evaluations": evaluations, "F1_new_rows": f1(called, y_test)}


PARTS = {
    "check": check, "kernel": kernel, "grid": grid, "threshold": threshold, "round": a_round,
    "opponent": opponent, "classifier": classifier, "path": path, "bundle": bundle,
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=[])
    parser.add_argument("--rows", type=int, default=50_000_000)
    asked = parser.parse_args()
    X, y = data(asked.rows)
    name = torch.cuda.get_device_name() if DEVICE == "cuda" else "CPU"
    out = {"device": name, "torch": torch.__version__, "rows": asked.rows, "columns": COLUMNS}
    for part in asked.parts or PARTS:
        start = time.perf_counter()
        out[part] = PARTS[part](X, y)
        print(part, f"{time.perf_counter() - start:.1f} s", out[part], flush=True)
        write("gpu", out, show=False)


if __name__ == "__main__":
    main()
