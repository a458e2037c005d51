"""What the constants of the guarded stream learner do: each of them varied alone, on ten shared data sets.

Up to 60,000 rows of each set, 0.7 of them learned from in three passes, two seeds; given are means over sets and seeds
on the rest. `src/core/stream/` quotes the figures beside the constants. No claim: it shows how much a value matters.

    STEELYARD_DATA=... python benchmarks/online_settings.py
"""

import warnings

import numpy as np
from sklearn.model_selection import train_test_split

import steelyard as sy
import steelyard.measures as m
from _run import write
from _sets import binary
from steelyard.solvers.stream import learner

SETS = (
    "letter", "ijcnn1", "a9a", "covertype", "adult", "w8a", "satimage", "spambase", "coil2000", "default-credit-card",
)  # fmt: skip
COUNTING, SKILL = (
    {"NegKLD": {"measure": m.NegKLD()}},
    {"FBeta": {"measure": m.FBeta(1)}, "GMean": {"measure": m.GMean()}},
)
CAP = {"cap": {"measure": m.Recall(), "subject_to": m.fpr <= 0.05}}
NONCONVEX = {"sigmoid": {"measure": m.Recall(), "subject_to": m.fpr <= 0.02, "reward": "sigmoid"}}
VARIED = {
    "share_power": ((0.0, 0.5, 0.65, 0.75, 0.85, 1.0), COUNTING),
    "floor": ((0.0, 0.1, 0.25, 0.5, 1.0), SKILL),
    "clip": ((1e-6, 1e-4, 1e-2), {**COUNTING, **SKILL}),
    "unit_step": ((0.15, 0.3, 0.6, 1.2, 2.4), SKILL),
    "gain": ((0.1, 0.5, 2.0), CAP),
    "hinge_first": ((0.0, 5e3, 2e4, 1e9), NONCONVEX),
}


def with_setting(original, name, value):
    def settings_of(problem, n_features):
        settings = original(problem, n_features)
        duals = settings.duals
        setattr(duals if hasattr(duals, name) else settings, name, value)
        settings.duals = duals
        return settings

    return settings_of


def scores(options, data):
    """The measure, balanced accuracy and false-alarm rate on the rows left out."""
    found = []
    for X, X_test, y, y_test in data:
        for seed in (0, 1):
            called = sy.OnlineClassifier(**options, max_iter=3, random_state=seed).fit(X, y).predict(X_test)
            rates = m.rates(y_test, called)
            skill = m.BalancedAccuracy().score(y_test, called)
            found.append((options["measure"].score(y_test, called), skill, 1.0 - rates.tnr))
    return dict(zip(("measure", "balanced_accuracy", "fpr"), np.mean(found, axis=0).tolist(), strict=True))


def main():
    warnings.simplefilter("ignore")
    data = [train_test_split(*binary(name, 60_000), test_size=0.3, random_state=0) for name in SETS]
    original, found = learner.settings_of, []
    for name, (values, problems) in VARIED.items():
        for value in values:
            learner.settings_of = with_setting(original, name, value)
            found += [
                {"setting": name, "value": value, "for": what, **scores(options, data)}
                for what, options in problems.items()
            ]
    learner.settings_of = original
    write("online_settings", {"sets": SETS, "found": found})


if __name__ == "__main__":
    main()
