"""Networks with MeasureLoss against the same ones with cross-entropy and with LibAUC's losses, and gradient boosting,
each with an exact threshold; and what the loss costs beside a cross-entropy.

    python benchmarks/neural_lockstep.py ...        trains the networks, best on a GPU: see there
    python benchmarks/neural.py --judge FOLDER OUT  thresholds and values of their scores; boosting on the same rows
    python benchmarks/neural.py --direct FOLDER SETS NeuralMeasureClassifier itself on the same rows, to compare
    python benchmarks/neural.py --overhead          milliseconds a step, batches of 256 (and of 65,536 on a GPU)

Results are kept in benchmarks/results/neural.json after every set. A set is split 56 : 14 : 30 by the seed, to learn
from, to judge epochs and set thresholds, and to test. Under a cap the value is the recall less the relative excess over
the cap, at most 1 (the Neyman-Pearson score of Gasso et al. with its sign turned).
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier

import steelyard as sy
import steelyard.measures as m
from _run import RESULTS, machine
from neural_lockstep import SETS, SMALL
from steelyard.neural import MeasureLoss

GOALS = {
    "F1": (m.FBeta(1), None),
    "BAKLD": (m.BAKLD(), None),
    "Q": (m.QMeasure(), None),
    "FPR <= 5 %": (m.Recall(), m.fpr <= 0.05),
    "FPR <= 1 %": (m.Recall(), m.fpr <= 0.01),
}


class Scored(ClassifierMixin, BaseEstimator):
    """A fitted model whose rows are their own scores."""

    def fit(self, X=None, y=None):
        self.classes_ = np.array([False, True])
        return self

    def decision_function(self, X):
        return X[:, 0]

    def predict(self, X):
        return X[:, 0] > 0.0


def contenders(scores, name, goal):
    """The scores of the rows that judge and of the test rows, by contender: mean logits where there are two."""
    of = lambda *key: [scores["|".join((name, *key, part))] for part in ("judge", "test")]
    mean = lambda one, two: [(a + b) / 2 for a, b in zip(one, two, strict=True)]
    ours, plain, second = of("MeasureLoss", goal, "loss"), *(of(f"cross-entropy{k}", "", "loss") for k in ("", " 2"))
    return {
        "NeuralMeasureClassifier": mean(ours, second),
        "MeasureLoss": ours,
        "cross-entropy": plain,
        "cross-entropy, stopped by the measure": of("cross-entropy", goal, "measure"),
        "two with cross-entropy": mean(plain, second),
        "LibAUC's AUC margin": of("AUC margin", "", "auc"),
        "LibAUC's partial AUC": of("partial AUC", "", "auc"),
        "boosting": of("boosting", "", ""),
    }


def threshold(goal, scores, y, rule):
    measure, cap = GOALS[goal]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tuned = sy.ThresholdClassifier(
            Scored().fit(), measure, subject_to=cap, rule=rule, cv="prefit", response_method="decision_function"
        )
        return tuned.fit(scores[:, None].astype(np.float64), y).best_threshold_


def value_of(goal, y, called):
    measure, cap = GOALS[goal]
    found = m.rates(y, called)
    value = measure(found.tpr, found.tnr, found.prevalence, sample_size=found.n_rows)
    if cap is not None:
        limit = 1.0 + cap.coefficients()[2]
        value -= min(max((1.0 - found.tnr) / limit - 1.0, 0.0), 1.0)
    return float(value)


def boosted(name, z):
    """Scores of gradient boosting that learns from the same rows."""
    found = {"judge": [], "test": []}
    for seed, rows in enumerate(z["learn"]):
        model = HistGradientBoostingClassifier(random_state=seed).fit(z["X"][rows].astype(np.float32), z["y"][rows])
        for part, scores in found.items():
            scores.append(model.decision_function(z["X"][z[part][seed]].astype(np.float32)))
    return {f"{name}|boosting|||{part}": np.array(scores) for part, scores in found.items()}


def judge(folder, out):
    """Values of all contenders: by the rule of NeuralMeasureClassifier for the threshold, and by the exact one."""
    found = load()
    for path in sorted(out.glob("scores_*.npz"), key=lambda p: p.stat().st_size):
        scores = dict(np.load(path))
        for name in dict.fromkeys(key.split("|")[0] for key in scores):
            with np.load(folder / f"{name}.npz") as z:
                z = dict(z)
            scores |= boosted(name, z)
            found["records"] = [r for r in found["records"] if r["set"] != name]
            for goal, (_, cap) in GOALS.items():
                for contender, (held, test) in contenders(scores, name, goal).items():
                    record = {"set": name, "rows": len(z["y"]), "simulated": name not in (*SETS, *SMALL)}
                    record |= {"goal": goal, "contender": contender, "value": [], "exact": []}  # over the seeds
                    for seed in range(len(held)):
                        truth = [z["y"][z[part][seed]] for part in ("judge", "test")]
                        for key, rule in (("value", "shrunk" if cap is None else "settled"), ("exact", "exact")):
                            cut = threshold(goal, held[seed], truth[0], rule)
                            record[key].append(round(value_of(goal, truth[1], test[seed] > cut), 6))
                    found["records"].append(record)
            keep(found)
            print(name, flush=True)


def direct(folder, names, seeds):
    """The estimator itself on the rows of the lockstep: differences to it are of other first weights and batches."""
    found = load()
    for name in names:
        with np.load(folder / f"{name}.npz") as z:
            z = dict(z)
        for seed in seeds:
            rest = np.concatenate([z["learn"][seed], z["judge"][seed]])
            split = [(np.arange(len(z["learn"][seed])), np.arange(len(z["learn"][seed]), len(rest)))]
            for goal, (measure, cap) in GOALS.items():
                model = sy.NeuralMeasureClassifier(measure, subject_to=cap, cv=split, random_state=seed)
                start = time.perf_counter()
                called = model.fit(z["X"][rest], z["y"][rest]).predict(z["X"][z["test"][seed]])
                value = value_of(goal, z["y"][z["test"][seed]], called)
                record = {"set": name, "goal": goal, "seed": seed, "value": value}
                found.setdefault("direct", []).append({**record, "seconds": time.perf_counter() - start})
                keep(found)


def load():
    path = RESULTS / "neural.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    return {"records": [], "overhead": {}} | found


def keep(found):
    found["machine"] = {**machine(), "torch": torch.__version__}
    (RESULTS / "neural.json").write_text(json.dumps(found, indent=1) + "\n")


def overhead(device, rows, rounds=1500):
    """Seconds a step of a 3-layer MLP with Adam, in turns of a new order each: the mean of the faster half of the steps
    (looks at the measure are rare after the first hundred); processor seconds where there is no GPU. Cross-entropy is
    there twice, so that its own spread is seen."""
    clock = time.process_time if device == "cpu" else time.perf_counter
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    X, y = torch.randn(rows, 54, device=device), (torch.rand(rows, device=device) < 0.2).float()
    losses = {
        "cross-entropy": torch.nn.BCEWithLogitsLoss(),
        "cross-entropy again": torch.nn.BCEWithLogitsLoss(),
        "F1": MeasureLoss(m.FBeta(1)).to(device),
        "BAKLD": MeasureLoss(m.BAKLD()).to(device),
        "FPR <= 5 %": MeasureLoss(m.Recall(), subject_to=m.fpr <= 0.05).to(device),
    }
    steps = {name: _stepper(loss, X, y, device) for name, loss in losses.items()}
    taken = {name: [] for name in losses}
    for _ in range(rounds):
        for name in rng.permutation(list(steps)):
            start = clock()
            steps[name]()
            taken[name].append(clock() - start)
    mean = {name: float(np.mean(np.sort(times)[: rounds // 2])) for name, times in taken.items()}
    plain = (mean["cross-entropy"] + mean["cross-entropy again"]) / 2
    return {name: {"seconds": seconds, "over": seconds / plain - 1.0} for name, seconds in mean.items()}


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
    ask = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ask.add_argument("--judge", nargs=2, type=Path, metavar=("FOLDER", "OUT"))
    ask.add_argument("--direct", nargs="+", metavar="FOLDER SETS")
    ask.add_argument("--seeds", nargs="*", type=int, default=[0, 1])
    ask.add_argument("--overhead", action="store_true")
    given = ask.parse_args()
    torch.set_num_threads(1)
    if given.judge:
        judge(*given.judge)
    if given.direct:
        direct(Path(given.direct[0]), given.direct[1:], given.seeds)
    if given.overhead:
        found = load()
        found["overhead"]["a processor, batches of 256"] = overhead("cpu", 256)
        if torch.cuda.is_available():
            found["overhead"][f"{torch.cuda.get_device_name()}, batches of 65,536"] = overhead("cuda", 65_536)
        keep(found)
        print(json.dumps(found["overhead"], indent=1))


if __name__ == "__main__":
    main()
