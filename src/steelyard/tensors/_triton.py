# mypy: ignore-errors
"""The kernel of `kernels`, in Triton's dialect of Python: what is a name in capitals is known when it is compiled."""

import triton
import triton.language as tl


@triton.jit
def read_kernel(
    X, y, weight, given, found, n, stride, d,
    D: tl.constexpr, K: tl.constexpr, ROWS: tl.constexpr, LOOPS: tl.constexpr, LOSS: tl.constexpr,
    WEIGHTED: tl.constexpr,
):  # fmt: skip
    """`given` is (D + 5, K): w, 1 less its constant term in each class, the costs of both, 1 / mu; `found`, (D + 4, K)
    for each program: v, v of a constant 1, the two risks, the dual terms."""
    program = tl.program_id(0).to(tl.int64)
    column, model = tl.arange(0, D), tl.arange(0, K)
    w = tl.load(given + column[:, None] * K + model[None, :])
    base_0, base_1 = tl.load(given + D * K + model), tl.load(given + (D + 1) * K + model)
    cost_0, cost_1 = tl.load(given + (D + 2) * K + model), tl.load(given + (D + 3) * K + model)
    steepness = tl.load(given + (D + 4) * K + model)
    v = tl.zeros((D, K), tl.float32)
    constant, risk_0 = tl.zeros((K,), tl.float32), tl.zeros((K,), tl.float32)
    risk_1, dual = tl.zeros((K,), tl.float32), tl.zeros((K,), tl.float32)
    for loop in range(LOOPS):
        row = (program * LOOPS + loop) * ROWS + tl.arange(0, ROWS)
        there = row < n
        x = tl.load(X + row[:, None] * stride + column[None, :], there[:, None] & (column[None, :] < d), other=0.0)
        sign = tl.load(y + row, there, other=1).to(tl.float32)
        if WEIGHTED:
            counts = tl.load(weight + row, there, other=0.0)
        else:
            counts = there.to(tl.float32)
        positive = sign[:, None] > 0
        base = tl.where(positive, base_1[None, :], base_0[None, :])
        z = base - tl.dot(x, w, input_precision="tf32x3") * sign[:, None]
        m = 1.0 - z
        if LOSS == 0:
            value = tl.maximum(z, 0.0)
            share = tl.sigmoid(z * steepness[None, :])
            term = share
        elif LOSS == 1:
            share = 2.0 * tl.maximum(z, 0.0)
            value = share * share * 0.25
            term = value + share * m
        else:
            e = tl.exp(-tl.abs(m))
            value = tl.log(1.0 + e) + tl.maximum(-m, 0.0)
            share = tl.where(m > 0, e, 1.0) / (1.0 + e)
            term = value + share * m
        cost = tl.where(positive, cost_1[None, :], cost_0[None, :]) * counts[:, None]
        pull = cost * share * sign[:, None]
        v += tl.dot(tl.trans(x), pull, input_precision="tf32x3")
        lost = value * counts[:, None]
        constant += tl.sum(pull, 0)
        risk_0 += tl.sum(tl.where(positive, 0.0, lost), 0)
        risk_1 += tl.sum(tl.where(positive, lost, 0.0), 0)
        dual += tl.sum(cost * term, 0)
    out = found + program * (D + 4) * K
    tl.store(out + column[:, None] * K + model[None, :], v)
    tl.store(out + D * K + model, constant)
    tl.store(out + (D + 1) * K + model, risk_0)
    tl.store(out + (D + 2) * K + model, risk_1)
    tl.store(out + (D + 3) * K + model, dual)
