"""Networks of several losses, seeds and goals trained at once, one batched product a layer.

It needs PyTorch and numpy only, so that it runs on a machine with a GPU that has nothing else.

    python benchmarks/neural_lockstep.py pack FOLDER        write the ten sets with their splits, from STEELYARD_DATA
    python benchmarks/neural_lockstep.py simulate FOLDER    write eight simulated sets
    python benchmarks/neural_lockstep.py train FOLDER OUT [EPOCHS]   on the machine with the GPU; scores to OUT
    python benchmarks/neural.py --judge FOLDER OUT          thresholds and values, and boosting; needs steelyard

The network, the optimizer and the running rates are those of `NeuralMeasureClassifier` and `MeasureLoss`, written for
a batch of models. LibAUC's losses are re-written from the papers: the margin loss of Yuan et al. (ICCV 2021) with its
primal-dual steps (PESG, step 0.1), and the one-way partial AUC of Zhu et al. (ICML 2022, SOPA-s, Adam 1e-3), both with
LibAUC's sampler of half positives; their epochs are chosen by the AUC of the rows left out.
"""

import itertools
import sys
import time
from pathlib import Path

import numpy as np
import torch

F = torch.nn.functional
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
CAPS = {"F1": None, "BAKLD": None, "Q": None, "FPR <= 5 %": 0.05, "FPR <= 1 %": 0.01}
MODELS = [("cross-entropy", None), ("cross-entropy 2", None), ("AUC margin", None), ("partial AUC", None)]
MODELS += [("MeasureLoss", goal) for goal in CAPS]
SEEDS, WIDTH, EPOCHS, PATIENCE, DROPOUT = 10, 256, 60, 15, 0.3
RATE, DECAY, KEPT, FLOOR = 2e-3, 0.1, 0.1, 0.25
SETS = ("covertype", "letter", "satimage", "adult", "ijcnn1")
SMALL = ("cmc", "segment", "vehicle", "wine-quality-red", "wine-quality-white")
ROWS = 50_000


# -- measures ------------------------------------------------------------------------------------------------------
def measure(goal, tpr, tnr, p, n):
    if CAPS[goal] is not None:
        return tpr + 0 * tnr
    if goal == "F1":
        return 2 * p * tpr / (p + p * tpr + (1 - p) * (1 - tnr)).clamp(min=1e-12)
    called, balanced = p * tpr + (1 - p) * (1 - tnr), (tpr + tnr) / 2
    if goal == "BAKLD":
        e = 0.5 / n
        kept = (p + e) * ((called + e) / (p + e)).log() + (1 - p + e) * ((1 - called + e) / (1 - p + e)).log()
        return 0.5 * balanced + 0.5 * kept / (1 + 2 * e)
    score = 1 - ((p - called) / max(p, 1 - p)) ** 2
    return 2 * balanced * score / (balanced + score).clamp(min=1e-12)


def slopes(goal, tpr, tnr, p, n):
    tpr, tnr = (rate.clamp(1e-4, 1 - 1e-4).detach().requires_grad_() for rate in (tpr, tnr))
    with torch.enable_grad():
        return torch.autograd.grad(measure(goal, tpr, tnr, p, n).sum(), (tpr, tnr))


def class_weights(pos, neg, p):
    """As `Duals._guarded`: the weights of a positive and of a negative row."""
    wrong = (pos < 0) | (neg < 0)
    pos, neg = (torch.where(wrong, share**0.75, x) for x, share in ((pos, p), (neg, 1 - p)))
    total = pos + neg
    pos, neg = ((x / total).clamp(min=FLOOR * share) for x, share in ((pos, p), (neg, 1 - p)))
    return pos / (pos + neg) / p, neg / (pos + neg) / (1 - p)


# -- networks ------------------------------------------------------------------------------------------------------
def first_weights(models, columns, seed_of, alternative, generator):
    """As torch.nn.Linear begins; models of one seed begin alike, those of `alternative` elsewhere."""

    def linear(rows, width):
        draw = lambda size: (2 * torch.rand(2 * SEEDS, size, width, generator=generator, device=DEVICE) - 1) / rows**0.5
        return [draw(size)[seed_of + SEEDS * alternative].clone() for size in (rows, 1)]

    norm = lambda: [torch.ones(models, 1, WIDTH, device=DEVICE), torch.zeros(models, 1, WIDTH, device=DEVICE)]
    parts = [linear(columns, WIDTH), norm(), linear(WIDTH, WIDTH), linear(WIDTH, WIDTH), norm(), linear(WIDTH, 1)]
    return [weight.requires_grad_() for part in parts for weight in part]


def network(weights, x, dropout=0.0):
    """`TableNet` of depth 1, a model a slice."""
    w0, b0, g1, c1, w1, b1, w2, b2, g2, c2, w3, b3 = weights
    h = torch.baddbmm(b0, x * torch.rsqrt(1 + (x / 3) ** 2), w0)
    inner = F.silu(torch.baddbmm(b1, F.layer_norm(h, (WIDTH,)) * g1 + c1, w1))
    h = h + torch.baddbmm(b2, F.dropout(inner, dropout, dropout > 0), w2)
    return torch.baddbmm(b3, F.silu(F.layer_norm(h, (WIDTH,)) * g2 + c2), w3)[..., 0]


class Running:
    """The running rates and class weights of the models with `MeasureLoss`."""

    def __init__(self, goals, p, n):
        self.goals, self.p, self.n = goals, p, n  # a goal each; the share of positives and rows to learn from
        size = len(goals)
        self.tally = torch.zeros(4, size, dtype=torch.double, device=DEVICE)  # positives, right; negatives, right
        self.multiplier = torch.ones(size, dtype=torch.double, device=DEVICE)
        self.weights = torch.ones(2, size, dtype=torch.double, device=DEVICE)  # of positives and negatives
        self.of = {g: torch.tensor([k for k, goal in enumerate(goals) if goal == g], device=DEVICE) for g in CAPS}
        self.free = torch.tensor([CAPS[g] is None for g in goals], device=DEVICE)

    def forget(self):
        self.tally[:, self.free] *= KEPT

    def observe(self, scores, positive):
        right = torch.where(positive, scores > 0, scores < 0)
        batch = torch.stack([part.sum(1) for part in (positive, positive & right, ~positive, ~positive & right)])
        self.tally += batch
        pos, neg = ((self.tally[k + 1] + 0.5) / (self.tally[k] + 1) for k in (0, 2))
        for goal, which in self.of.items():
            if CAPS[goal] is None:
                steep = slopes(goal, pos[which], neg[which], self.p, self.n)
            else:
                seen, good = batch[2, which], batch[3, which]
                gain = 1 / self.tally[2, which].clamp(min=1).sqrt()
                up = (1 + gain * (1 / CAPS[goal] - 1)).clamp(0.5, 2.0)
                moved = self.multiplier[which] * (1 - gain).clamp(0.5, 2) ** good * up ** (seen - good)
                self.multiplier[which] = moved.clamp(1e-3, 1e3)
                steep = torch.ones_like(moved), self.multiplier[which]
            self.weights[:, which] = torch.stack(class_weights(*steep, self.p))


def auc_margin(scores, positive, state, p):
    """Yuan et al.: the minimax form of the AUC with a margin of 1; `state` is a, b (descended) and alpha (ascended)."""
    s, pos = torch.sigmoid(scores), positive.float()
    a, b, alpha = (x[:, None] for x in state)
    value = (1 - p) * ((s - a) ** 2 * pos).mean(1) + p * ((s - b) ** 2 * (1 - pos)).mean(1)
    spread = p * (1 - p) + (p * s * (1 - pos) - (1 - p) * s * pos).mean(1)
    return value + 2 * alpha[:, 0] * spread - p * (1 - p) * alpha[:, 0] ** 2


def partial_auc(scores, half, memory, rows):
    """Zhu et al., SOPA-s with lambda 1: positives are the first half of a batch, with a mean each in `memory`."""
    short = F.relu(1 - (scores[:, :half, None] - scores[:, None, half:])) ** 2
    with torch.no_grad():
        force = short.clamp(max=20).exp()
        mean = 0.1 * memory.gather(1, rows) + 0.9 * force.mean(2)
        memory.scatter_(1, rows, mean)
        force = force / mean[..., None]
    return (force * short).mean((1, 2))


# -- training ------------------------------------------------------------------------------------------------------
class Task:
    """A set with its splits, one line a seed: rows to learn from, to judge by, and to test on."""

    def __init__(self, path):
        with np.load(path) as z:
            X, y = torch.from_numpy(z["X"].astype(np.float32)).to(DEVICE), torch.from_numpy(z["y"]).to(DEVICE)
            learn, judge, test = (
                torch.from_numpy(z[k].astype(np.int64)).to(DEVICE) for k in ("learn", "judge", "test")
            )
        rows = [X[which] for which in learn]
        mean = torch.stack([part.mean(0) for part in rows])[:, None]
        scale = torch.stack([part.std(0) for part in rows])[:, None]
        scale = torch.where(scale > 1e-6, scale, torch.ones_like(scale))
        self.X, self.y, self.learn, self.mean, self.scale = X, y, learn, mean, scale
        self.judge, self.test = (((X[which] - mean) / scale, y[which]) for which in (judge, test))
        self.p, self.n = float(y[learn[0]].double().mean()), learn.shape[1]
        self.steps = max(1, round(self.n / min(max(self.n // 32, 16), 256)))

    def rows(self, which):
        return (self.X[which] - self.mean) / self.scale, self.y[which]

    def shuffled(self, generator):
        order = torch.stack([part[torch.randperm(self.n, generator=generator, device=DEVICE)] for part in self.learn])
        cuts = np.linspace(0, self.n, self.steps + 1).astype(int)
        for start, end in itertools.pairwise(cuts):
            yield self.rows(order[:, start:end])

    def halves(self, generator):
        """Batches of as many positives as negatives, positives first; with the places of the positives."""
        labels = self.y[self.learn]
        pos, neg = (torch.stack([part[label == side] for part, label in zip(self.learn, labels, strict=True)])
                    for side in (True, False))  # fmt: skip
        half = max(self.n // self.steps // 2, 1)
        draw = lambda part: torch.randint(part.shape[1], (SEEDS, half), generator=generator, device=DEVICE)
        for _ in range(self.steps):
            places, others = draw(pos), draw(neg)
            which = torch.cat([pos.gather(1, places), neg.gather(1, others)], 1)
            yield *self.rows(which), places


class Kept:
    """The scores of the epochs that a criterion likes best, model by model."""

    def __init__(self, models, task):
        sizes = task.judge[1].shape[1], task.test[1].shape[1]
        self.best = torch.full((models,), -torch.inf, dtype=torch.double, device=DEVICE)
        self.epoch = torch.zeros(models, device=DEVICE)
        self.scores = [torch.zeros(models, size, device=DEVICE) for size in sizes]

    def look(self, value, scores, epoch):
        better = (value > self.best) & (epoch - self.epoch <= PATIENCE)
        self.best, self.epoch = torch.where(better, value, self.best), torch.where(better, float(epoch), self.epoch)
        self.scores = [torch.where(better[:, None], new, old) for new, old in zip(scores, self.scores, strict=True)]


def scored(weights, parts, seed_of):
    with torch.no_grad():
        found = []
        for X, _ in parts:
            cut = [network(weights, X[:, k : k + 2048][seed_of]) for k in range(0, X.shape[1], 2048)]
            found.append(torch.cat(cut, 1))
        return found


def frontier_value(goal, scores, positive):
    """The best value of any threshold."""
    order = scores.argsort(1, descending=True)
    right = positive.gather(1, order).double()
    tpr, fpr = right.cumsum(1) / right.sum(1, True), (1 - right).cumsum(1) / (1 - right).sum(1, True)
    value = measure(goal, tpr, 1 - fpr, float(right[0].mean()), scores.shape[1]).nan_to_num(nan=-9.0)
    return value.max(1).values if CAPS[goal] is None else torch.where(fpr <= CAPS[goal], value, 0.0).max(1).values


def auc(scores, positive):
    rank = scores.argsort(1).argsort(1).double() + 1
    pos = positive.sum(1)
    return ((rank * positive).sum(1) - pos * (pos + 1) / 2) / (pos * (~positive).sum(1))


def train_weighted(task, generator):
    """Cross-entropy and `MeasureLoss`: (model, criterion) -> scores of both parts."""
    models = [one for one in MODELS if one[0] in ("cross-entropy", "cross-entropy 2", "MeasureLoss")]
    count = SEEDS * len(models)
    seed_of = torch.arange(SEEDS, device=DEVICE).repeat_interleave(len(models))
    alternative = torch.tensor([name.endswith("2") for name, _ in models], device=DEVICE).repeat(SEEDS).long()
    weights = first_weights(count, task.X.shape[1], seed_of, alternative, generator)
    slow = [weight.detach().clone() for weight in weights]
    optimizer = torch.optim.AdamW(weights, lr=RATE, weight_decay=DECAY, fused=DEVICE == "cuda")
    goals = [goal for _, goal in models] * SEEDS
    ours = torch.tensor([goal is not None for goal in goals], device=DEVICE)
    running = Running([goal for goal in goals if goal is not None], task.p, task.n)
    class_weight = torch.ones(2, count, dtype=torch.double, device=DEVICE)
    positive = task.judge[1][seed_of]
    by_loss, by_measure = Kept(count, task), {goal: Kept(count, task) for goal in CAPS}
    for epoch in range(1, EPOCHS + 1):
        decay = min(1 - 1 / max(task.steps, 2), epoch / (epoch + 9.0))
        running.forget()
        for X, y in task.shuffled(generator):
            y = y[seed_of]
            scores = network(weights, X[seed_of], DROPOUT)
            with torch.no_grad():
                row = torch.where(y, class_weight[0][:, None], class_weight[1][:, None]).float()
                running.observe(scores[ours], y[ours])
                class_weight[:, ours] = running.weights
            optimizer.zero_grad()
            (row * F.softplus(torch.where(y, -scores, scores))).mean(1).sum().backward()
            optimizer.step()
            with torch.no_grad():
                torch._foreach_lerp_(slow, weights, 1 - decay)
        found = scored(slow, (task.judge, task.test), seed_of)
        row = torch.where(positive, class_weight[0][:, None], class_weight[1][:, None])
        loss = (row * F.softplus(torch.where(positive, -found[0], found[0]))).mean(1)
        by_loss.look(-loss, found, epoch)
        for goal, kept in by_measure.items():
            kept.look(frontier_value(goal, found[0], positive), found, epoch)
    shape = (SEEDS, len(models), -1)
    out = {}
    for k, (name, goal) in enumerate(models):
        out[name, goal or "", "loss"] = [part.view(shape)[:, k] for part in by_loss.scores]
        if name == "cross-entropy":  # as it is mostly done: stopped by the measure that will be reported
            for g in CAPS:
                out[name, g, "measure"] = [part.view(shape)[:, k] for part in by_measure[g].scores]
    return out


def train_auc(task, generator, kind):
    """LibAUC's losses; the epoch by the AUC of the rows left out."""
    seed_of = torch.arange(SEEDS, device=DEVICE)
    weights = first_weights(SEEDS, task.X.shape[1], seed_of, 0 * seed_of, generator)
    slow, kept = [weight.detach().clone() for weight in weights], Kept(SEEDS, task)
    margin = kind == "AUC margin"
    state = [torch.zeros(SEEDS, device=DEVICE, requires_grad=True) for _ in range(3)]
    memory = torch.ones(SEEDS, int(task.y[task.learn[0]].sum()), device=DEVICE)
    optimizer = (torch.optim.SGD([*weights, *state[:2]], lr=0.1, weight_decay=1e-4) if margin
                 else torch.optim.Adam(weights, lr=1e-3, weight_decay=1e-4))  # fmt: skip
    for epoch in range(1, EPOCHS + 1):
        decay = min(1 - 1 / max(task.steps, 2), epoch / (epoch + 9.0))
        if margin and epoch in (EPOCHS // 2, 3 * EPOCHS // 4):  # as LibAUC's examples lower it
            optimizer.param_groups[0]["lr"] /= 10
        for X, y, places in task.halves(generator):
            scores = network(weights, X, DROPOUT)
            optimizer.zero_grad()
            state[2].grad = None
            half = scores.shape[1] // 2
            value = auc_margin(scores, y, state, 0.5) if margin else partial_auc(scores, half, memory, places)
            value.sum().backward()
            optimizer.step()
            with torch.no_grad():
                if margin:
                    state[2].add_(optimizer.param_groups[0]["lr"] * state[2].grad).clamp_(min=0)
                torch._foreach_lerp_(slow, weights, 1 - decay)
        found = scored(slow, (task.judge, task.test), seed_of)
        kept.look(auc(found[0], task.judge[1]), found, epoch)
    return {(kind, "", "auc"): kept.scores}


# -- files ---------------------------------------------------------------------------------------------------------
def write(folder, name, X, y):
    """A set with its splits: of each class 30 % to test, and a fifth of the rest to judge by."""
    parts = {"learn": [], "judge": [], "test": []}
    for seed in range(SEEDS):
        order = np.random.default_rng(seed).permutation(len(y))
        ranked = [order[y[order] == side] for side in (False, True)]
        cuts = [np.round(len(rows) * np.array([0.56, 0.70])).astype(int) for rows in ranked]
        for key, part in zip(parts, zip(*map(np.split, ranked, cuts), strict=True), strict=True):
            parts[key].append(np.concatenate(part).astype(np.uint16))
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / f"{name}.npz", X=X, y=y, **{key: np.array(part) for key, part in parts.items()})


def pack(folder):
    from _sets import binary

    for name in (*SETS, *SMALL):
        X, y = binary(name, rows=ROWS, is_small=name in SMALL)
        write(folder, name, X.astype(np.float32), y.astype(bool))


def simulate(folder):
    """Four kinds of boundaries, many rows of a rare class and few of a frequent one; labels with logistic noise."""
    for kind in ("trees", "clusters", "waves", "bend"):
        for n, p, noise in ((1500, 0.3, 0.5), (6000, 0.08, 0.7)):
            rng = np.random.default_rng(n)
            X = rng.normal(size=(n, 12))
            if kind == "trees":
                columns, cuts, sides = (
                    rng.integers(12, size=(30, 3)),
                    rng.normal(size=(30, 3)),
                    rng.random((30, 3)) < 0.5,
                )
                f = 3 * ((X[:, columns] > cuts) == sides).all(2) @ rng.normal(size=30)
            elif kind == "clusters":
                centres, which = 1.2 * rng.normal(size=(16, 12)), rng.integers(16, size=n)
                X, f = X + centres[which], 4.0 * (which < 5)
            elif kind == "waves":
                f = 1.5 * np.tanh(X @ rng.normal(size=(12, 20)) * 0.6) @ rng.normal(size=20)
                X = np.sinh(X)
            else:
                f = 1.5 * (X[:, 0] + X[:, 1] ** 2 - X[:, 2] * X[:, 3])
                X = X @ (np.eye(12) + 0.1 * rng.normal(size=(12, 12)))
            f = f + noise * rng.logistic(size=n)
            write(folder, f"{kind}-{n}", X.astype(np.float32), f > np.quantile(f, 1 - p))


def train(folder, out, epochs=EPOCHS):
    global EPOCHS
    EPOCHS = int(str(epochs))
    torch.backends.cuda.matmul.allow_tf32 = True
    rest = {}
    for path in sorted(folder.glob("*.npz"), key=lambda p: p.stat().st_size):
        start = time.perf_counter()
        torch.manual_seed(0)
        generator = torch.Generator(device=DEVICE).manual_seed(0)
        task = Task(path)
        found = train_weighted(task, generator)
        for kind in ("AUC margin", "partial AUC"):
            found |= train_auc(task, generator, kind)
        arrays = {"|".join((path.stem, *key, part)): scores.cpu().numpy() for key, both in found.items()
                  for part, scores in zip(("judge", "test"), both, strict=True)}  # fmt: skip
        if path.stem in SETS:  # few files, none of them large
            np.savez(out / f"scores_{path.stem}.npz", **arrays)
        else:
            rest |= arrays
            np.savez(out / "scores_small.npz", **rest)
        print(path.stem, task.n, f"{time.perf_counter() - start:.0f} s", flush=True)


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("which part? pack, simulate or train, and its folders: the text at the top says how")
    verb, *folders = sys.argv[1:]
    {"pack": pack, "simulate": simulate, "train": train}[verb](*map(Path, folders))
