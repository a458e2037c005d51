"""Networks: the same one trained with MeasureLoss and with cross-entropy, and gradient boosting, each with an exact
threshold; and what the loss costs beside a cross-entropy.

    python benchmarks/neural.py                     all sets, measures and ten seeds: many hours on a processor
    python benchmarks/neural.py --quick             a few sets of few rows, three seeds: marked as such
    python benchmarks/neural.py --sets letter adult --seeds 0 1
    python benchmarks/neural.py --overhead          milliseconds a step, batches of 256 (and of 65,536 on a GPU)

Results are kept in benchmarks/results/neural.json after every fit, and what is there is not run again: it can run in
parts. A set is split 70 : 30 by the seed. Under a cap the value is the recall less the relative excess over the cap,
at most 1 (the Neyman-Pearson score of Gasso et al. with its sign turned).
"""

import argparse
import json
import time
import warnings

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import train_test_split

import steelyard as sy
import steelyard.measures as m
from _run import RESULTS, machine
from _sets import binary
from steelyard.neural import MeasureLoss

GOALS = {
    "F1": (m.FBeta(1), None),
    "BAKLD": (m.BAKLD(), None),
    "Q": (m.QMeasure(), None),
    "FPR <= 5 %": (m.Recall(), m.fpr <= 0.05),
    "FPR <= 1 %": (m.Recall(), m.fpr <= 0.01),
}
LARGE = ("covertype", "letter", "satimage", "adult", "ijcnn1")
SMALL = ("cmc", "segment", "vehicle", "wine-quality-red", "wine-quality-white")
QUICK = {"sets": ("letter", "satimage", "vehicle", "wine-quality-red", "segment"), "seeds": (0, 1, 2), "rows": 3000}
QUICK_GOALS = ("F1", "BAKLD", "FPR <= 5 %")


class CrossEntropy(torch.nn.Module):
    """In the place of MeasureLoss, so that all else is the same."""

    def __init__(self, measure, subject_to=None, reward=None):
        super().__init__()

    def forget(self, keep):
        pass

    def forward(self, scores, labels, weights=None):
        return torch.nn.functional.binary_cross_entropy_with_logits(scores, labels.to(scores.dtype), weights)


class CrossEntropyNetwork(sy.NeuralMeasureClassifier):
    """The same network, stopped and cut by the same measure, but trained with cross-entropy."""

    def _train(self, *args):
        from steelyard.neural import loss

        ours, loss.MeasureLoss = loss.MeasureLoss, CrossEntropy
        try:
            return super()._train(*args)
        finally:
            loss.MeasureLoss = ours


def contenders(measure, cap, seed):
    boosting = HistGradientBoostingClassifier(random_state=seed)
    return {
        "MeasureLoss": sy.NeuralMeasureClassifier(measure, subject_to=cap, random_state=seed),
        "cross-entropy": CrossEntropyNetwork(measure, subject_to=cap, random_state=seed),
        "boosting": sy.ThresholdClassifier(boosting, measure, subject_to=cap),
    }


def value_of(measure, cap, y, called):
    found = m.rates(y, called)
    value = measure(found.tpr, found.tnr, found.prevalence, sample_size=found.n_rows)
    if cap is not None:
        limit = 1.0 + cap.coefficients()[2]
        value -= min(max((1.0 - found.tnr) / limit - 1.0, 0.0), 1.0)
    return {"value": float(value), "tpr": found.tpr, "fpr": 1.0 - found.tnr}


def load():
    path = RESULTS / "neural.json"
    return json.loads(path.read_text()) if path.exists() else {"records": [], "overhead": {}}


def keep(found):
    found["machine"] = {**machine(), "torch": torch.__version__}
    (RESULTS / "neural.json").write_text(json.dumps(found, indent=1) + "\n")


def quality(sets, goals, seeds, rows, quick):
    found = load()
    known = {(r["set"], r["rows"], r["goal"], r["seed"], r["contender"]) for r in found["records"]}
    for seed in seeds:
        for name in sets:
            X, y = binary(name, rows=rows, is_small=name in SMALL)
            parts = train_test_split(X.astype(np.float32), y, test_size=0.3, stratify=y, random_state=seed)
            for goal in goals:
                for contender, model in contenders(*GOALS[goal], seed).items():
                    if (name, len(y), goal, seed, contender) in known:
                        continue
                    start = time.perf_counter()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        called = model.fit(parts[0], parts[2]).predict(parts[1])
                    seconds = time.perf_counter() - start
                    record = {"set": name, "rows": len(y), "goal": goal, "seed": seed, "contender": contender}
                    record |= value_of(*GOALS[goal], parts[3], called) | {"seconds": seconds, "quick": quick}
                    found["records"].append(record)
                    keep(found)
                    print(
                        f"{name:20s} {goal:10s} {seed} {contender:14s} {record['value']:.4f} {seconds:6.1f} s",
                        flush=True,
                    )


def overhead(device, rows, batches=300, repeats=5):
    """Seconds a step of a 3-layer MLP with Adam, in turns: the mean of the faster half of the steps (looks at the
    measure are rare after the first hundred), the best of the repeats; processor seconds where there is no GPU."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    torch.manual_seed(0)
    X, y = torch.randn(rows, 54, device=device), (torch.rand(rows, device=device) < 0.2).float()
    losses = {
        "cross-entropy": torch.nn.BCEWithLogitsLoss(),
        "F1": MeasureLoss(m.FBeta(1)).to(device),
        "BAKLD": MeasureLoss(m.BAKLD()).to(device),
        "FPR <= 5 %": MeasureLoss(m.Recall(), subject_to=m.fpr <= 0.05).to(device),
    }
    steps = {name: _stepper(loss, X, y, device) for name, loss in losses.items()}
    best = dict.fromkeys(losses, np.inf)
    for _ in range(repeats):
        taken = {name: [] for name in losses}
        for _ in range(batches):
            for name, step in steps.items():
                start = clock()
                step()
                taken[name].append(clock() - start)
        best = {name: min(best[name], float(np.mean(np.sort(t)[: batches // 2]))) for name, t in taken.items()}
    return {name: {"seconds": t, "over": t / best["cross-entropy"] - 1.0} for name, t in best.items()}


def _stepper(loss, X, y, device):
    layers = [torch.nn.Linear(54, 256), torch.nn.ReLU(), torch.nn.Linear(256, 256), torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers, torch.nn.Linear(256, 1), torch.nn.Flatten(0)).to(device)
    optimizer = torch.optim.Adam(net.parameters())

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss(net(X), y).backward()
        optimizer.step()
        if device != "cpu":
            torch.cuda.synchronize()

    return step


def main():
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--sets", nargs="*", default=[*LARGE, *SMALL])
    ask.add_argument("--goals", nargs="*", default=list(GOALS))
    ask.add_argument("--seeds", nargs="*", type=int, default=list(range(10)))
    ask.add_argument("--rows", type=int, default=50_000)
    ask.add_argument("--quick", action="store_true")
    ask.add_argument("--overhead", action="store_true")
    given = ask.parse_args()
    torch.set_num_threads(1)
    if given.overhead:
        found = load()
        found["overhead"]["cpu, batches of 256"] = overhead("cpu", 256)
        if torch.cuda.is_available():
            found["overhead"][f"{torch.cuda.get_device_name()}, batches of 65,536"] = overhead("cuda", 65_536)
        keep(found)
        print(json.dumps(found["overhead"], indent=1))
    elif given.quick:
        quality(QUICK["sets"], QUICK_GOALS, QUICK["seeds"], QUICK["rows"], quick=True)
    else:
        quality(given.sets, given.goals, given.seeds, given.rows, quick=False)


if __name__ == "__main__":
    main()
