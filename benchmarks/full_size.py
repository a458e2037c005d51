"""MeasureClassifier on tables of full size: what the whole search costs, and whether it is ever behind.

    STEELYARD_DATA=... python benchmarks/full_size.py speed [sets]     seconds against one tuned logistic regression
    STEELYARD_DATA=... python benchmarks/full_size.py quality [sets]   six measures, five splits, three rivals
    STEELYARD_DATA=... python benchmarks/full_size.py growth           seconds against rows, up to 5,000,000

Speed: `MeasureClassifier(FBeta(1)).fit` and `ThresholdClassifier(LogisticRegression(max_iter=500), FBeta(1),
cv=5).fit` on 70 % of the rows, in turns with a rest between, best of five (three where a fit takes seconds), seconds of
the wall clock with the libraries' own threads; and once more with numpy's BLAS on one thread, where scikit-learn's
logistic regression is several times faster on small tables, in seconds of the processor, which other work on the
machine hardly changes. Growth is in these, too.
Claims: at most 1 times the logistic regression, at most a third from 200,000 rows on; growth with an exponent
of at most 1.1.

Quality: stratified 70/30 splits, the measure on the test part; under a cap a on false alarms the Neyman-Pearson score
of Gasso et al. (2011) with its sign turned, ``TPR - max(0, FPR - a) / a``. The opponent is the best of three *on the
test parts*, which favours it: logistic regression and a linear SVM with exactly tuned thresholds, and
`OnlineClassifier` with three passes. A loss counts if a paired t-test with the variance corrected for overlapping
splits (Nadeau and Bengio 2003) says so at 5 % after Holm's correction. `visible` is the difference that such a test
would see in four of five cases. Results are written after every set, and a set that is there is not run again.
"""

import json
import os
import subprocess
import sys
import time
import warnings

import numpy as np
from scipy.stats import t as student
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

import steelyard as sy
import steelyard.measures as m
from _run import RESULTS, write
from _sets import class_against_rest
from frontier import Remembered, figure, p_value, significant

F1 = m.FBeta(1)
SPEED = (
    "letter 0", "adult", "ijcnn1 60000", "covertype 7 100000", "covertype 7", "skin", "kddcup99-10pct 11", "shuttle 0",
    "census-like", "w8a", "a9a",
)  # fmt: skip
QUALITY = (
    *(f"covertype {k}" for k in range(1, 8)), "census-like", "ijcnn1", "w8a", "a9a", "adult", "skin",
    "kddcup99-10pct 11", "shuttle 0", "20news-bydate 1",
)  # fmt: skip
MEASURES = {
    "F1": (F1, None), "BA": (m.BalancedAccuracy(), None), "Q-measure": (m.QMeasure(), None), "BAKLD": (m.BAKLD(), None),
    "FPR <= 5 %": (m.Recall(), 0.05), "FPR <= 1 %": (m.Recall(), 0.01),
}  # fmt: skip
SPLITS = range(100, 105)
WHO = ("ours", "logistic", "svm", "stream")


def census_like(n=300_000, seed=0):
    """A made table in the manner of a census: skewed amounts, codes, one-hot groups; 6 % positive."""
    rng = np.random.default_rng(seed)
    latent = rng.normal(size=(n, 4))
    amounts = np.exp(latent @ rng.normal(size=(4, 8)) * 0.5 + rng.normal(size=(n, 8))) * (rng.random((n, 8)) < 0.3)
    codes = np.floor(np.clip(latent @ rng.normal(size=(4, 12)) + rng.normal(size=(n, 12)) + 3, 0, 8))
    group = rng.integers(0, 20, n)
    X = np.hstack([np.log1p(amounts), codes, np.eye(20)[group]])
    score = latent[:, 0] + 0.5 * latent[:, 1] * latent[:, 2] + 0.2 * codes[:, 0] + rng.normal(size=20)[group]
    y = score + rng.logistic(size=n) > np.quantile(score, 0.97)
    return (X - X.mean(0)) / np.maximum(X.std(0), 1e-12), y.astype(int)


def table(word):
    """ "name [positive class] [rows]" as X and y."""
    name, *rest = word.split()
    if name == "census-like":
        return census_like()
    numbers = [int(part) for part in rest]
    rows = numbers.pop() if numbers and numbers[-1] >= 1000 else None
    return class_against_rest(name, numbers[0] if numbers else None, rows)


def tuned(model, measure=F1, **options):
    return sy.ThresholdClassifier(model, measure, cv=5, **options)


def clock(job):
    """Seconds of the wall clock and of the processors."""
    start, at = time.perf_counter(), time.process_time()
    job()
    return time.perf_counter() - start, time.process_time() - at


# Seconds. The threads of BLAS wait for their next call in a loop, on a core that the next contender would have: on
# letter a search took 0.11 s straight after a logistic regression, and 0.07 s after this.
REST = 0.3


def speed_of(word, repeats=5, long=2.0):
    X, y = table(word)
    Xa, _, ya, _ = train_test_split(X, y, test_size=0.3, random_state=7, stratify=y)
    jobs = {
        "ours": lambda: sy.MeasureClassifier(F1, random_state=0).fit(Xa, ya),
        "logistic": lambda: tuned(LogisticRegression(max_iter=500)).fit(Xa, ya),
        "stream": lambda: sy.OnlineClassifier(F1, random_state=0, max_iter=3).fit(Xa, ya),
    }
    times = {name: [] for name in jobs}
    for number in range(repeats):
        if number >= 3 and times["logistic"][0][0] > long:
            break
        for name, job in jobs.items():
            times[name].append(clock(job))
            time.sleep(REST)
    best, cpu = ({name: min(one[k] for one in found) for name, found in times.items()} for k in (0, 1))
    return {
        "rows": Xa.shape[0], "columns": Xa.shape[1], **best, "ratio": best["ours"] / best["logistic"],
        "cpu": cpu, "cpu_ratio": cpu["ours"] / cpu["logistic"],
    }  # fmt: skip


def speed(words):
    """Each set in a process of its own, once with the libraries' own threads and once with one thread for BLAS; with
    `--blas=1` in that way only."""
    file = RESULTS / "full_size_speed.json"
    found = json.loads(file.read_text())["sets"] if file.exists() else {}
    ways = [word.removeprefix("--blas=") for word in words if word.startswith("--blas=")] or ["default", "1"]
    for word in [word for word in words if not word.startswith("--")] or SPEED:
        found.setdefault(word, {})
        for threads in ways:
            env = {**os.environ} if threads == "default" else {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
            command = [sys.executable, "-W", "ignore", __file__, "--speed-of", word]
            out = subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout
            found[word][threads] = json.loads(out)
            print(f"{word:22s} BLAS threads {threads:8s}", found[word][threads], flush=True)
        write("full_size_speed", {"sets": found}, show=False)


def contender(name, measure, **options):
    """A new one; the two from scikit-learn are fitted once for all measures."""
    if name == "ours":
        return sy.MeasureClassifier(measure, random_state=0, **options)
    if name == "stream":
        return sy.OnlineClassifier(measure, max_iter=3, random_state=0, **options)
    model = LogisticRegression(max_iter=500) if name == "logistic" else LinearSVC(random_state=0)
    return tuned(Remembered(model), measure, **options)


def figures_of(X, y, who):
    """measure -> contender -> one figure, TPR and FPR a split."""
    found = {label: {name: [] for name in who} for label in MEASURES}
    for seed in SPLITS:
        Xa, Xb, ya, yb = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
        Remembered.known.clear()
        for label, (measure, cap) in MEASURES.items():
            options = {} if cap is None else {"subject_to": m.fpr <= cap}
            for name in who:
                model = contender(name, measure, **options).fit(Xa, ya)
                rates = m.rates(yb, model.predict(Xb), pos_label=1)
                found[label][name].append((figure(measure, cap, rates, yb), rates.tpr, 1.0 - rates.tnr))
    return found


def row(word, label, found):
    means = {name: float(np.mean([one[0] for one in values])) for name, values in found.items()}
    rival = max((name for name in means if name != "ours"), key=lambda name: means[name])
    differences = np.array([a[0] - b[0] for a, b in zip(found["ours"], found[rival], strict=True)])
    k = len(differences)
    error = float(np.sqrt(np.var(differences, ddof=1) * (1 / k + 3 / 7)))  # 3/7: test over training rows
    visible = error * float(student.ppf(0.975, k - 1) + student.ppf(0.8, k - 1))
    return {
        "set": word, "measure": label, **means, "rival": rival, "difference": float(differences.mean()), "error": error,
        "visible": visible, "p": p_value(differences), "significant": False,
    }  # fmt: skip


def quality(words):
    """`--anew=ours` runs that contender once more, as after a change of rules; `--only=svm` leaves the others out."""
    file = RESULTS / "full_size_quality.json"
    figures = json.loads(file.read_text())["figures"] if file.exists() else {}
    anew = [word.removeprefix("--anew=") for word in words if word.startswith("--anew=")]
    who = [word.removeprefix("--only=") for word in words if word.startswith("--only=")] or WHO
    for word in [word for word in words if not word.startswith("--")] or QUALITY:
        known = figures.setdefault(word, {label: {} for label in MEASURES})
        missing = [name for name in who if name in anew or name not in known["F1"]]
        start = time.perf_counter()
        if missing:
            for label, found in figures_of(*table(word), missing).items():
                known[label].update(found)
        whole = {word: found for word, found in figures.items() if set(found["F1"]) == set(WHO)}
        rows = [row(word, label, found) for word, found_in in whole.items() for label, found in found_in.items()]
        significant(rows)
        for one in (one for one in rows if one["set"] == word):
            print(word, one["measure"], one["rival"], f"{one['difference']:+.4f} ({one['error']:.4f})", flush=True)
        print(word, missing, f"{time.perf_counter() - start:.0f} s", flush=True)
        write("full_size_quality", {"rows": rows, "figures": figures}, show=False)


def growth():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5_000_000, 20)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=len(X)) > 2.0).astype(int)
    found = {}
    for n in (50_000, 150_000, 500_000, 1_500_000, 5_000_000):
        found[n] = min(
            clock(lambda n=n: sy.MeasureClassifier(F1, random_state=0).fit(X[:n], y[:n]))[1] for _ in range(2)
        )
        print(n, round(found[n], 2), flush=True)
        slope = float(np.polyfit(np.log(list(found)), np.log(list(found.values())), 1)[0]) if len(found) > 1 else 0.0
        write("full_size_growth", {"seconds": found, "exponent": slope}, show=False)
    print("exponent", round(slope, 2))


if __name__ == "__main__":
    warnings.simplefilter("ignore", ConvergenceWarning)
    if sys.argv[1:2] == ["--speed-of"]:
        print(json.dumps(speed_of(sys.argv[2])))
    elif sys.argv[1:2] == ["growth"]:
        growth()
    elif sys.argv[1:2] in (["speed"], ["quality"]):
        globals()[sys.argv[1]](sys.argv[2:])
    else:
        raise SystemExit(__doc__)
