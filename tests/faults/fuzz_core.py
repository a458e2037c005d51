"""Odd calls of the core: every binding with arguments that fit, or do not.

    python fuzz_core.py SEED SECONDS [BINDING...]        prints a line of JSON for each binding

The core is private, and what it checks is what keeps the process alive: lengths, shapes, ranges of numbers that it counts
or looks things up with. So a call may raise or answer, and must not crash or hang. A try is made of its seed alone; they
run in forks, many in each, and where a fork dies its tries are made again one by one, to find the seed.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import threading
import warnings

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from faults.odd_arguments import Draw
from steelyard import _core
from steelyard.measures.stages import stages

EACH = 200  # tries in a fork: a third of the time was forking with 40
PATIENCE = 20  # seconds of a processor for a try: the data are of a few rows
WAITING = 30  # times as many by the clock, for a try that waits for nothing
MEMORY = 3 << 30  # bytes: who says two thousand million columns means them, and is told that there is no memory


def rows(draw):
    x = draw.rows()
    x.scores(draw.matrix(draw.one_of(0, 1, 3), draw.d), draw.count(2))
    x.sums(draw.matrix(draw.one_of(0, 1, 3), draw.n), draw.count(2))
    x.squared_norms()
    x.view(None, draw.number()).squared_norms()


def measures(draw):
    for _ in range(10):
        try:
            _core.evaluate_tape(*draw.tape(), draw.matrix(5, 4))
        except ValueError:
            continue
    _core.scan_frontier(draw.numbers(draw.n), draw.bools(draw.n), draw.weight())


def draws(draw):
    """What is counted in resamples, and the units of scores."""
    n, models = draw.n, draw.one_of(0, 1, 3)
    drawn = _core.draw_rows(draw.index(n), draw.one_of(0, 1, 20, -1), draw.one_of(0, 1, 2**63 - 1))
    if draw.maybe(0.5):  # not what draw_rows gives
        drawn = draw.rng.integers(0, 256, (draw.length(draw.one_of(0, 1, 20)), draw.length(n))).astype(np.uint8)
    called = draw.matrix(n, models) > 0.5
    _core.calls_drawn(called if draw.maybe(0.5) else np.ascontiguousarray(called.T), drawn, draw.weight())
    _core.shares_above(draw.numbers(n), np.sort(draw.numbers(4)), drawn, draw.weight())
    _core.score_units(draw.matrix(n, models), draw.numbers(3, draw.rng.random), draw.weight())


def halts(draw):
    """A call that is told to end does; in a thread of its own, since heeding lasts."""
    x, halt, ended = draw.rows(), _core.Halt(), []

    def task():
        if draw.maybe(0.8):
            halt.heed()
        try:
            x.scores(draw.matrix(2, draw.d), draw.count(2))
            ended.append("answered")
        except (*REFUSALS, KeyboardInterrupt):
            ended.append("refused")

    if draw.maybe(0.5):
        halt.set()
    thread = threading.Thread(target=task)
    thread.start()
    halt.set()
    thread.join()
    if ended == ["refused"]:
        raise ValueError("refused")


def cost_grid(draw):
    x, grid = draw.rows(), _core.CostGrid()
    grid.costs = [(draw.number(), draw.number(2.0)) for _ in range(draw.one_of(0, 1, 3))]
    grid.C = [draw.number(c) for c in (0.1, 1.0, 10.0)[: draw.one_of(0, 1, 3)]]
    grid.loss = draw.one_of("hinge", "squared_hinge", "logistic", "none")
    grid.solver = draw.one_of("coordinate", "newton", "newton_first", "coordinate_first", "no solver of that name")
    grid.tol, grid.max_passes, grid.n_threads = draw.number(1e-3), draw.number(50), draw.one_of(1, 1, 2, 0, -3)
    _core.solve_cost_grid(x, draw.signs(draw.n), draw.weight(), grid)


def class_risks(draw):
    x = draw.rows()
    y, weight, tracks = draw.signs(draw.n), draw.weight(), 3
    risks = _core.ClassRisks(x, y, weight, draw.one_of("hinge", "squared_hinge", "logistic"), draw.count(1))
    if not draw.maybe(draw.odd):
        risks.begin(draw.count(tracks) % 5000)
    for _ in range(6):
        which = draw.whole(tracks, tracks, np.int64)
        step = draw.rng.integers(5)
        if step == 0:
            risks.look(which, draw.matrix(tracks, draw.d))
        elif step == 1:
            risks.risks(which, draw.numbers(tracks))
        elif step == 2:
            risks.search(which, abs(draw.matrix(tracks, 2)), draw.numbers(tracks), abs(draw.numbers(tracks)))
        elif step == 3:
            risks.move(which, draw.numbers(tracks), draw.numbers(tracks))
        else:
            risks.cut(which)


def masters(draw):
    tracks, d = 3, draw.d
    made = _core.Masters(draw.count(tracks) % 5000, draw.count(d) % 5000, draw.maybe(0.5), draw.index(10))
    made.set_caps(abs(draw.matrix(tracks, 2)))
    for _ in range(4):
        which = np.unique(draw.whole(tracks, tracks, np.int64))
        if draw.maybe(0.5):
            made.add(which, draw.matrix(2 * len(which), d), draw.numbers(2 * len(which)))
        else:
            made.propose(which, abs(draw.numbers(len(which))), draw.count(1))
    cuts = 4
    side = draw.whole(cuts, 2, np.int32)
    g = draw.matrix(cuts, d)
    _core.solve_master(
        g, draw.numbers(cuts), side, draw.number(), draw.number(), draw.number(1e-3), draw.one_of(-1, 0, 100)
    )
    args = draw.numbers(draw.n, draw.rng.random), draw.numbers(draw.n), draw.numbers(draw.n)
    _core.line_search(*args, draw.number(), draw.number(), draw.one_of("hinge", "squared_hinge", "logistic"))


def duals(draw, guard):
    made = _core.Duals()
    made.set_measure(_core.Tape(*draw.tape()))
    if draw.maybe(0.3):
        made.set_constraint(_core.Tape(*draw.tape()))
    if not guard or draw.maybe():
        parts = [(s.tape, s.first, s.second, s.low, s.high) for s in stages(draw.measure())]
        found = [
            _core.Stage(
                _core.Tape(t.op, t.left, t.right, t.number),
                draw.count(i),
                draw.count(j),
                draw.number(low),
                draw.number(high),
            )
            for t, i, j, low, high in parts
        ]
        made.set_objective(found)
        if draw.maybe(0.5):
            made.set_denominator(found)
    return made


def stream(draw):
    settings = _core.LearnerSettings()
    for name in ("width", "hinge_first", "eta0", "unit_step", "alpha", "radius", "growth", "epoch", "epoch_growth"):
        setattr(settings, name, draw.number(getattr(settings, name)))
    for name in ("reward", "steps", "refresh"):
        setattr(settings, name, draw.count(getattr(settings, name)))
    capacity = draw.one_of(settings.capacity, (8, 8), (100, 3))
    settings.capacity = draw.index(capacity[0]), draw.index(capacity[1])
    inner = settings.duals
    inner.guard = draw.maybe(0.6)
    for name in ("counts", "forget", "scan", "constrained", "balanced"):
        setattr(inner, name, draw.maybe(0.3))
    for name in ("gain", "floor", "clip", "share_power"):
        setattr(inner, name, draw.number(getattr(inner, name)))
    settings.duals = inner
    x = draw.rows()
    learner = _core.StreamLearner(settings, draw.index(draw.d), duals(draw, inner.guard))
    y = draw.rng.choice([-1, 1], draw.length(draw.n)).astype(np.int8)
    for k in range(3):
        learner.learn(x, y, draw.weight(), _core.Pass(draw.maybe(0.5), draw.count(k) % 1000, draw.maybe(0.5)))
    for side in (0, 1, draw.count(0)):
        learner.reservoir_scores(side, draw.numbers(draw.d))
        learner.reservoir_rows(side), learner.reservoir_csr(side), learner.reservoir_weights(side)
    learner.coefficients(True), learner.intercept(False), learner.history()
    saved = bytearray(learner.save())
    if draw.maybe(0.5):
        saved[draw.rng.integers(len(saved))] ^= int(draw.rng.integers(256))
    again = learner.copy()
    again.load(bytes(saved))
    again.learn(x, y, None, _core.Pass(False, 3, False))  # what was loaded is used


def class_measure(draw, k):
    lifts = [
        (draw.count(draw.rng.integers(7)), draw.count(draw.rng.integers(k)), _core.Tape(*draw.tape()))
        for _ in range(draw.one_of(1, 2, 3))
    ]
    formula = draw.tape() if draw.maybe() else (np.zeros(1, np.int32),) * 3 + (np.zeros(1),)
    tables = [draw.matrix(k, k) for _ in range(draw.one_of(0, 1, 2))]
    return _core.ClassMeasure(lifts, _core.Tape(*formula, draw.count(len(lifts) + 1)), tables)


def classes(draw):
    k = draw.one_of(1, 2, 3, 5)
    constraints = [
        _core.ClassConstraint(*[class_measure(draw, k) for _ in range(draw.one_of(1, 1, 2, 3))])
        for _ in range(draw.one_of(0, 0, 1, 2))
    ]
    small = [draw.number(1e-9) for _ in range(3)]
    goal = _core.ClassGoal(class_measure(draw, k), constraints, draw.number(0.01), draw.maybe(0.5), *small)
    labels = abs(draw.matrix(draw.n, k))
    _core.best_offset(draw.matrix(draw.n, k), labels, draw.numbers(k), abs(draw.index(draw.rng.integers(k))), goal)


def class_stream(draw):
    x, k = draw.rows(), draw.one_of(1, 2, 3, 5)
    d = draw.length(draw.d)
    models, offsets = np.zeros((draw.length(3), k, d)), np.zeros((draw.length(3), draw.length(k)))
    numbers, table = np.zeros(draw.length(5)), np.zeros((draw.length(k), k))
    codes, order = draw.whole(draw.n, k, np.int32), draw.whole(draw.n, draw.n, np.int64)
    for _ in range(2):
        _core.class_pass(
            x, codes, draw.weight(), order, draw.numbers(k), models, offsets, table, numbers, draw.count(1),
            draw.number(0.6), draw.maybe(0.5),
        )  # fmt: skip


def structural(draw):
    x = draw.rows(values=draw.maybe(0.8))  # whose numbers it sees in the scores
    n = draw.n
    if draw.maybe(0.4):
        search = draw.one_of("counts", "table", "table", "bounds") if draw.maybe() else "counts"
        loss = _core.ConfusionLoss.of_counts(draw.numbers(n + 1, draw.rng.random), search)
    else:
        search = draw.one_of("counts", "table") if draw.maybe() else draw.one_of("bounds", "divide")
        loss = _core.ConfusionLoss.of_measure(
            *draw.tape(), draw.number(1e-3), draw.number(), draw.number(), search, draw.one_of(-1, 0, 1),
            draw.index(0), draw.index(n),
        )  # fmt: skip
    positive = draw.bools(n)
    _core.most_violated(loss, draw.numbers(n), positive, draw.number())
    how = {"smallest_mu": draw.number(1e-3), "idle": draw.index(20), "max_pivots": draw.one_of(0, -1, 100)}
    svm = _core.StructuralSvm(x, positive, loss, _core.StructuralOptions(draw.number(), **how, n_threads=draw.count(1)))
    for _ in range(5):
        svm.step(draw.number(1e-3))
    svm.weights(), svm.looked


def path(draw):
    exact = draw.maybe(0.3)  # a regression without residuals: a path in two legs
    if exact:
        draw.n, draw.d = 100, draw.one_of(1, 3, 8)
    x = draw.rows()
    n = draw.n
    box = draw.matrix(n, 4)
    if not draw.maybe(0.3) and box.shape == (n, 4):
        box = np.tile([-1.0, 1.0, 0.0, 1.0] if exact else [0.0, 0.0, 1.0, -1.0], (n, 1))
    name = draw.one_of("linear", "rbf", "poly", "precomputed", "no kernel of that name")
    kernel = (name, draw.number(), draw.number(), draw.count(2), draw.number(), draw.number(1e6))
    sign, target = (np.ones(n), x.scores(draw.matrix(1, draw.d), 1)[:, 0]) if exact else (draw.signs(n), np.ones(n))
    made = _core.PathOn(x, sign, target[: draw.length(n)], box, None if draw.maybe(0.5) else kernel)
    for log in made.trace((draw.number(0.1), draw.number(0.9)), 0, None, draw.number(0.5), draw.count(2)):
        made.recover(log, draw.numbers(3, lambda k: draw.rng.uniform(0.1, 0.9, k)))
        made.walk(log, draw.index(0), draw.index(1))
        made.audit(log, np.ones(draw.length(n)), draw.number(), draw.index(1))
        again = _core.PathLog.__new__(_core.PathLog)
        again.__setstate__(log.__getstate__())
        made.audit(again, np.ones(n), 1.0, 1)


def other_paths(draw):
    x = draw.rows()
    n = draw.n
    _core.equal_rows(x, draw.signs(n))
    knots = 4
    ahead = np.sort(draw.numbers(knots, draw.rng.random))
    _core.score_crossings(x, abs(draw.numbers(n)), ahead, draw.matrix(len(ahead), draw.d), draw.numbers(knots))
    _core.trace_approximately(
        x, draw.signs(n), draw.weight(), draw.number(), (draw.number(0.1), draw.number(0.9)), draw.number(0.1),
        draw.one_of("newton_first", "coordinate_first", "coordinate", "none"), 0,
    )  # fmt: skip


def kernel(draw):
    x = draw.rows()
    n = draw.n
    name = draw.one_of("linear", "rbf", "poly", "precomputed")
    spec = _core.KernelSpec(name, draw.number(), draw.number(), draw.count(2), draw.number())
    made = _core.KernelMatrix(x, spec, draw.number(1e6))
    made.product(draw.numbers(n))
    zero = np.zeros(draw.length(n))
    low, high = -draw.numbers(n, draw.rng.random), draw.numbers(n, draw.rng.random)
    made.solve(draw.signs(n), low, high, zero, zero, draw.number(1e-3), draw.one_of(0, -1, 1000), draw.maybe(0.5))
    made.solve(draw.signs(n), low, high, draw.numbers(n), draw.numbers(n), draw.number(1e-3), 100, draw.maybe(0.5))


BINDINGS = {
    f.__name__: f
    for f in (
        rows,
        measures,
        draws,
        halts,
        cost_grid,
        class_risks,
        masters,
        stream,
        classes,
        class_stream,
        structural,
        path,
        other_paths,
        kernel,
    )
}
REFUSALS = (ValueError, TypeError, IndexError, MemoryError, RuntimeError, OverflowError)


def tried(name, seeds):
    """In a fork: whether all tries came back, and how many of them with an answer; the last word is a signal's."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        answered = 0
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            warnings.simplefilter("ignore")
            np.seterr(all="ignore")
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
            for number in (signal.SIGPROF, signal.SIGALRM):  # they end the process, whatever it is at
                signal.signal(number, signal.SIG_DFL)
            for seed in seeds:
                signal.setitimer(signal.ITIMER_PROF, PATIENCE)
                signal.alarm(WAITING * PATIENCE)
                try:
                    BINDINGS[name](Draw(seed))
                    answered += 1
                except REFUSALS:
                    pass
            os.write(theirs, str(answered).encode())
            os._exit(0)
        except BaseException as error:  # an error of a kind that nobody expects
            os.write(theirs, b"0")
            if os.environ.get("FUZZ_SAYS"):
                os.write(1, repr(error).encode() + b"\n")
        finally:
            os._exit(9)
    os.close(theirs)
    answered = os.read(ours, 20)
    os.close(ours)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), int(answered or 0)


def fuzz(name, seed, seconds):
    """Tries for so many seconds of a processor: how many, how many were answered, and the seeds that ended a process."""
    found = {"binding": name, "seconds": 0.0, "tries": 0, "answered": 0, "crashed": {}}
    began, first = sum(os.times()[:4]), seed * 1_000_000
    while found["seconds"] < seconds and len(found["crashed"]) < 20:
        seeds = range(first, first + EACH)
        code, answered = tried(name, seeds)
        if code != 0:
            codes = {one: tried(name, [one])[0] for one in seeds}
            found["crashed"].update({one: code for one, code in codes.items() if code != 0})
        found["tries"] += EACH
        found["answered"] += answered
        found["seconds"] = round(sum(os.times()[:4]) - began, 2)
        first += EACH
    return found


def main(seed, seconds, *names):
    for name in names or BINDINGS:
        print(json.dumps(fuzz(name, int(seed), float(seconds))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
