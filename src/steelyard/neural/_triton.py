# mypy: ignore-errors
"""The kernels of `fused`, in Triton's dialect of Python: what is a name in capitals is known when it is compiled.

A tally is eight numbers: rows, mass, right answers and rewards, of all rows and of the positive ones.
"""

import triton
import triton.language as tl


@triton.jit
def weigh_kernel(scores, labels, pull, row, target, tally, n, share, BLOCK: tl.constexpr):
    """Of each row its label as a number and the weight of its class; and the counts of the batch, added to `tally`."""
    program = tl.program_id(0)
    at = program * BLOCK + tl.arange(0, BLOCK)
    there = at < n
    s = tl.load(scores + at, there, other=0.0)
    positive = tl.load(labels + at, there, other=0) > 0
    neg, pos = tl.load(pull) * share, tl.load(pull + 1) * share
    tl.store(row + at, tl.where(positive, pos, neg), there)
    tl.store(target + at, positive.to(tl.float32), there)
    right = tl.where(positive, s > 0.0, s < 0.0) & there
    all_right, both = tl.sum(right.to(tl.int32), 0), tl.sum((right & positive).to(tl.int32), 0)
    count, rows = (
        tl.sum((positive & there).to(tl.int32), 0).to(tl.float64),
        tl.sum(there.to(tl.int32), 0).to(tl.float64),
    )
    tl.atomic_add(tally, rows)
    tl.atomic_add(tally + 1, rows)
    tl.atomic_add(tally + 2, all_right.to(tl.float64))
    tl.atomic_add(tally + 4, count)
    tl.atomic_add(tally + 5, count)
    tl.atomic_add(tally + 6, both.to(tl.float64))


@triton.jit
def constraint_kernel(
    tally, batch, line, multiplier, last, slope, pull, gain, prevalence,
    RUNNING: tl.constexpr, SIDE: tl.constexpr, DOWN: tl.constexpr, UP: tl.constexpr, LOW: tl.constexpr,
    HIGH: tl.constexpr, LEAST_SLACK: tl.constexpr, FLOOR: tl.constexpr, SHARE_POWER: tl.constexpr,
    STEEPEST: tl.constexpr,
):  # fmt: skip
    """`numbers.observe` and the weights of `numbers.refresh`, by one program of one warp; the batch is zero afterwards.
    All is loaded before anything is stored."""
    rows, right, pos_rows, pos_right = tl.load(batch), tl.load(batch + 2), tl.load(batch + 4), tl.load(batch + 6)
    seen_rows, seen_pos = tl.load(tally) + rows, tl.load(tally + 4) + pos_rows
    mass, credit = tl.load(tally + 1) + rows, tl.load(tally + 2) + right
    mass_pos, credit_pos = tl.load(tally + 5) + pos_rows, tl.load(tally + 6) + pos_right
    neg_rows, neg_right = rows - pos_rows, right - pos_right
    slope_neg, slope_pos, before = tl.load(slope), tl.load(slope + 1), tl.load(multiplier)
    a, b, c = tl.load(line), tl.load(line + 1), tl.load(line + 2)
    if SIDE == 1:
        count, good, seen, own = pos_rows, pos_right, mass_pos, a
        rest = b * ((credit - credit_pos + 0.5) / (mass - mass_pos + 1.0)) + c
    else:
        count, good, seen, own = neg_rows, neg_right, mass - mass_pos, b
        rest = a * ((credit_pos + 0.5) / (mass_pos + 1.0)) + c
    step = gain / tl.sqrt(tl.maximum(seen, 1e-300)) / tl.maximum(a + b + c, LEAST_SLACK)
    at_right = tl.log(tl.minimum(tl.maximum(1.0 - step * (own + rest), DOWN), UP))
    at_wrong = tl.log(tl.minimum(tl.maximum(1.0 - step * rest, DOWN), UP))
    moved = good * at_right + (count - good) * at_wrong
    moved = tl.minimum(tl.maximum(moved, -700.0), 700.0)
    lam = tl.minimum(tl.maximum(before * tl.exp(moved), LOW), HIGH)
    tl.store(multiplier, lam)
    tl.store(tally, seen_rows)
    tl.store(tally + 1, mass)
    tl.store(tally + 2, credit)
    tl.store(tally + 4, seen_pos)
    tl.store(tally + 5, mass_pos)
    tl.store(tally + 6, credit_pos)
    for k in tl.static_range(8):
        tl.store(batch + k, 0.0)
    if neg_rows > 0.0:
        tl.store(last, neg_right / neg_rows)
    if pos_rows > 0.0:
        tl.store(last + 1, pos_right / pos_rows)
    running = (mass_pos + 0.5) / (mass + 1.0)
    p = running if RUNNING else prevalence
    neg, pos = slope_neg + lam * b, slope_pos + lam * a
    falls = (neg < 0.0) | (pos < 0.0)
    neg = tl.where(falls, tl.exp(SHARE_POWER * tl.log(1.0 - p)), neg)
    pos = tl.where(falls, tl.exp(SHARE_POWER * tl.log(p)), pos)
    # A slope without end, as numbers._guarded has it: infinity less itself is no number.
    neg = tl.where(neg - neg == 0.0, neg, STEEPEST)
    pos = tl.where(pos - pos == 0.0, pos, STEEPEST)
    total = neg + pos
    neg = tl.maximum(tl.where(total > 0.0, neg / total, 1.0 - p), FLOOR * (1.0 - p))
    pos = tl.maximum(tl.where(total > 0.0, pos / total, p), FLOOR * p)
    tl.store(pull, neg / (neg + pos) / (1.0 - running))
    tl.store(pull + 1, pos / (neg + pos) / running)
