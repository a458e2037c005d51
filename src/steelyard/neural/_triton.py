# mypy: ignore-errors
"""The kernel of `fused`, in Triton's dialect of Python: what is a name in capitals is known when it is compiled.

A tally is eight numbers: rows, mass, right answers and rewards, of all rows and of the positive ones. The places of
what stays from batch to batch come in one table, as a launch takes longer for every argument; there are no constants
beside the kernel, as each launch looks whether they are still the same.
"""

import triton
import triton.language as tl


@triton.jit(do_not_specialize=["n"])  # a 1 would be compiled anew, as a number that has no type
def step_kernel(
    scores, labels, grad, value, places, n,
    REWARD: tl.constexpr, LEARNS: tl.constexpr, CONSTRAINED: tl.constexpr, SLOTS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The loss of a batch and its gradient; the program that ends last counts the batch and moves the weights.
    `places` are those of the tally, the weights of the classes, the slopes, the mass at the last look, the line of a
    constraint, its multiplier, the last rates, the tally of this batch with the programs that have ended behind it,
    the loss of each program, the figures of `fused.given`, and the tape."""
    program, programs = tl.program_id(0), tl.num_programs(0)
    pull, batch, parts = at_place(places, 1), at_place(places, 7), at_place(places, 8)
    width = figures(at_place(places, 9))[2]
    at = program.to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    there = at < n
    s = tl.load(scores + at, there, other=0.0)
    positive = tl.load(labels + at, there, other=0) > 0
    rows = n.to(tl.float64)
    row = tl.where(positive, (tl.load(pull + 1) / rows).to(tl.float32), (tl.load(pull) / rows).to(tl.float32))
    missed, falls = missed_by(tl.where(positive, s, -s), width.to(tl.float32), REWARD)
    tl.store(grad + at, row * tl.where(positive, falls, -falls), there)
    right = tl.where(positive, s > 0.0, s < 0.0) & there
    tl.atomic_add(batch + 2, tl.sum(right.to(tl.int32), 0).to(tl.float64))
    tl.atomic_add(batch + 4, tl.sum((positive & there).to(tl.int32), 0).to(tl.float64))
    tl.atomic_add(batch + 6, tl.sum((right & positive).to(tl.int32), 0).to(tl.float64))
    tl.store(parts + program, tl.sum(tl.where(there, row * missed, 0.0), 0).to(tl.float64))
    tl.debug_barrier()
    if tl.atomic_add(batch + 8, 1.0) == programs - 1:
        tl.debug_barrier()
        total = tl.full((), 0.0, tl.float64)
        for start in range(0, programs, BLOCK):
            part = start + tl.arange(0, BLOCK)
            total += tl.sum(tl.load(parts + part, part < programs, other=0.0, cache_modifier=".cg"), 0)
        tl.store(value, total.to(tl.float32))
        right_rows = tl.load(batch + 2, cache_modifier=".cg")
        pos_rows, pos_right = tl.load(batch + 4, cache_modifier=".cg"), tl.load(batch + 6, cache_modifier=".cg")
        tl.debug_barrier()  # all warps have read
        for k in tl.static_range(9):
            tl.store(batch + k, 0.0)
        if LEARNS:
            move(places, rows, right_rows, pos_rows, pos_right, CONSTRAINED, SLOTS)


@triton.jit
def at_place(places, k):
    return tl.load(places + k).to(tl.pointer_type(tl.float64))


@triton.jit
def figures(told):
    """In the order of `fused.given`; what nobody asks for is not read."""
    one = tl.load(told), tl.load(told + 1), tl.load(told + 2), tl.load(told + 3), tl.load(told + 4), tl.load(told + 5)
    two = tl.load(told + 6), tl.load(told + 7), tl.load(told + 8), tl.load(told + 9), tl.load(told + 10)
    return one + two + (tl.load(told + 11), tl.load(told + 12), tl.load(told + 13), tl.load(told + 14))


@triton.jit
def missed_by(z, width, REWARD: tl.constexpr):
    """One minus the reward of a margin, and its slope: as `rewards.shortfall`."""
    if REWARD == "logistic":
        e = tl.exp(-tl.abs(z))
        u = 1.0 + e
        log = tl.where(u == 1.0, e, tl.log(u) * (e / tl.where(u == 1.0, 1.0, u - 1.0)))  # log(1 + e), e small too
        return log + tl.maximum(-z, 0.0), -tl.where(z > 0.0, e, 1.0) / u
    if REWARD == "hinge":
        return tl.maximum(1.0 - z, 0.0), tl.where(z < 1.0, -1.0, 0.0)
    u = z / width
    if REWARD == "sigmoid":
        right = tl.sigmoid(u)
        return tl.sigmoid(-u), -right * tl.sigmoid(-u) / width
    if REWARD == "ramp":
        down = 0.5 - 0.5 * u
        return tl.minimum(tl.maximum(down, 0.0), 1.0), tl.where((down > 0.0) & (down < 1.0), -0.5 / width, 0.0)
    return 0.5 - 0.5 * tl.erf(u), -0.5641895835477563 * tl.exp(-u * u) / width  # 1 / sqrt(pi)


@triton.jit
def move(places, rows, right, pos_rows, pos_right, CONSTRAINED: tl.constexpr, SLOTS: tl.constexpr):
    """`numbers.observe` and `numbers.refresh`. What a warp loads no other has stored before."""
    tally, pull, slope, looked_at = at_place(places, 0), at_place(places, 1), at_place(places, 2), at_place(places, 3)
    line, multiplier, last = at_place(places, 4), at_place(places, 5), at_place(places, 6)
    told = at_place(places, 9)
    _, given, _, stale_by, clip, floor, share_power, steepest, _, _, _, _, _, side, n_tape = figures(told)
    seen, mass, credit = tl.load(tally) + rows, tl.load(tally + 1) + rows, tl.load(tally + 2) + right
    seen_pos, mass_pos = tl.load(tally + 4) + pos_rows, tl.load(tally + 5) + pos_rows
    credit_pos = tl.load(tally + 6) + pos_right
    rate_neg, rate_pos = (credit - credit_pos + 0.5) / (mass - mass_pos + 1.0), (credit_pos + 0.5) / (mass_pos + 1.0)
    slope_neg, slope_pos = tl.load(slope), tl.load(slope + 1)
    running = (mass_pos + 0.5) / (mass + 1.0)
    p = tl.where(given < 0.0, running, given)
    stale = mass >= stale_by * tl.load(looked_at)
    if stale:
        tpr = tl.minimum(tl.maximum(rate_pos, clip), 1.0 - clip)
        tnr = tl.minimum(tl.maximum(rate_neg, clip), 1.0 - clip)
        smoothing = 0.5 / tl.maximum(seen, 1.0)
        slope_neg, slope_pos = slopes_at(at_place(places, 10), n_tape.to(tl.int32), tpr, tnr, p, smoothing, SLOTS)
    neg, pos = slope_neg, slope_pos
    if CONSTRAINED:
        a, b, c, lam = tl.load(line), tl.load(line + 1), tl.load(line + 2), tl.load(multiplier)
        if side > 0.0:
            lam = moved(lam, pos_rows, pos_right, mass_pos, a, b * rate_neg + c, a + b + c, told)
        else:
            seen_neg, rest = mass - mass_pos, a * rate_pos + c
            lam = moved(lam, rows - pos_rows, right - pos_right, seen_neg, b, rest, a + b + c, told)
        neg, pos = neg + lam * b, pos + lam * a
    tl.debug_barrier()  # all warps have read
    if CONSTRAINED:
        tl.store(multiplier, lam)
        if rows > pos_rows:
            tl.store(last, (right - pos_right) / (rows - pos_rows))
        if pos_rows > 0.0:
            tl.store(last + 1, pos_right / pos_rows)
    tl.store(tally, seen)
    tl.store(tally + 1, mass)
    tl.store(tally + 2, credit)
    tl.store(tally + 4, seen_pos)
    tl.store(tally + 5, mass_pos)
    tl.store(tally + 6, credit_pos)
    if stale:
        tl.store(slope, slope_neg)
        tl.store(slope + 1, slope_pos)
        tl.store(looked_at, mass)
    # `numbers._guarded`. A slope without end is one where infinity less itself is no number.
    falls = (neg < 0.0) | (pos < 0.0)
    neg, pos = tl.where(falls, power(1.0 - p, share_power), neg), tl.where(falls, power(p, share_power), pos)
    neg = tl.where(neg - neg == 0.0, neg, steepest)
    pos = tl.where(pos - pos == 0.0, pos, steepest)
    total = neg + pos
    neg = tl.maximum(tl.where(total > 0.0, neg / total, 1.0 - p), floor * (1.0 - p))
    pos = tl.maximum(tl.where(total > 0.0, pos / total, p), floor * p)
    if CONSTRAINED or stale:
        tl.store(pull, neg / (neg + pos) / (1.0 - running))
        tl.store(pull + 1, pos / (neg + pos) / running)


@triton.jit
def moved(lam, count, good, seen, own, rest, perfect, told):
    """The multiplier after `count` rows of its class, `good` of them right: `numbers._move_multiplier`."""
    gain, _, _, _, _, _, _, _, down, up, low, high, least_slack, _, _ = figures(told)
    step = gain / tl.sqrt(tl.maximum(seen, 1e-300)) / tl.maximum(perfect, least_slack)
    at_right = tl.log(tl.minimum(tl.maximum(1.0 - step * (own + rest), down), up))
    at_wrong = tl.log(tl.minimum(tl.maximum(1.0 - step * rest, down), up))
    by = tl.minimum(tl.maximum(good * at_right + (count - good) * at_wrong, -700.0), 700.0)
    return tl.where(count > 0.0, tl.minimum(tl.maximum(lam * tl.exp(by), low), high), lam)


@triton.jit
def slopes_at(tape, n_tape, tpr, tnr, p, smoothing, SLOTS: tl.constexpr):
    """The slopes of the measure in tnr and tpr: `src/core/measure/tape.hpp`, whose operations have these numbers.
    Earlier instructions are numbers of a vector, one of which is taken by a sum."""
    slot = tl.arange(0, SLOTS)
    values = tl.zeros((SLOTS,), tl.float64)
    by_tpr, by_tnr = values, values
    for k in range(n_tape):
        op, number = tl.load(tape + 4 * k).to(tl.int32), tl.load(tape + 4 * k + 3)
        place = tl.load(tape + 4 * k + 1).to(tl.int32)
        left, right = slot == place, slot == tl.load(tape + 4 * k + 2).to(tl.int32)
        x, y = taken(values, left), taken(values, right)
        inputs = tl.where(place == 0, tpr, tl.where(place == 1, tnr, tl.where(place == 2, p, smoothing)))
        value = tl.where(op == 0, inputs, number)
        value = tl.where(op == 2, x + y, tl.where(op == 3, x - y, value))
        value = tl.where(op == 4, product(x, y), tl.where(op == 5, quotient(x, y), value))
        value = tl.where(op == 6, -x, tl.where(op == 9, tl.abs(x), value))
        value = tl.where(op == 10, tl.where(x < y, x, y), tl.where(op == 11, tl.where(x > y, x, y), value))
        dx = tl.where(op == 6, -1.0, tl.where(op == 9, tl.where(x > 0.0, 1.0, tl.where(x < 0.0, -1.0, 0.0)), 1.0))
        dx = tl.where(op == 4, y, tl.where(op == 5, 1.0 / y, dx))
        dy = tl.where(op == 4, x, tl.where(op == 5, -quotient(value, y), 0.0))
        dy = tl.where(op == 2, 1.0, tl.where(op == 3, -1.0, dy))
        if op == 7:
            value, dx = tl.log(x), 1.0 / x
        if op == 8:
            value, dx = power(x, number), number * power(x, number - 1.0)
        if op >= 10:
            dx = tl.where(x == y, 0.5, tl.where(value == x, 1.0, 0.0)) + 0.0 * dx
            dy = 1.0 - dx
        tpr_slope = product(dx, taken(by_tpr, left)) + product(dy, taken(by_tpr, right))
        tnr_slope = product(dx, taken(by_tnr, left)) + product(dy, taken(by_tnr, right))
        tpr_slope = tl.where(op <= 1, tl.where((op == 0) & (place == 0), 1.0, 0.0), tpr_slope)
        tnr_slope = tl.where(op <= 1, tl.where((op == 0) & (place == 1), 1.0, 0.0), tnr_slope)
        here = slot == k
        values = tl.where(here, value, values)
        by_tpr, by_tnr = tl.where(here, tpr_slope, by_tpr), tl.where(here, tnr_slope, by_tnr)
    end = slot == n_tape - 1
    return taken(by_tnr, end), taken(by_tpr, end)


@triton.jit
def taken(values, here):
    return tl.sum(tl.where(here, values, 0.0), 0)


@triton.jit
def product(a, b):
    return tl.where((a == 0.0) | (b == 0.0), 0.0, a * b)


@triton.jit
def quotient(a, b):
    return tl.where((a == 0.0) & (b == 0.0), 0.0, a / b)


@triton.jit
def power(x, exponent):
    """x ** exponent; of negative numbers to whole exponents."""
    found = tl.exp(exponent * tl.log(tl.abs(x)))
    whole, half = tl.floor(exponent) == exponent, 0.5 * exponent
    found = tl.where(x < 0.0, tl.where(whole, tl.where(tl.floor(half) == half, found, -found), float("nan")), found)
    at_zero = tl.where(exponent > 0.0, 0.0, tl.where(exponent == 0.0, 1.0, float("inf")))
    return tl.where(x == 0.0, at_zero, found)
