"""The two halves of the front page's picture, on a light and on a dark ground: one model has many best points, and a
limit that just holds is not a promise. The second is the gallery's example of fraud under an alarm budget, run from
its file."""

import contextlib
import io
import runpy
from functools import partial
from pathlib import Path

import numpy as np

EXAMPLES = Path(__file__).parent.parent / "examples"
GROUNDS = {"light": ("#222222", "#1f5fa8", "#c2410c"), "dark": ("#dddddd", "#7ab8ff", "#ffa657")}


def figures(folder):
    import matplotlib as mpl

    mpl.use("Agg")
    curve, points = one_model()
    alarms = a_hundred_months()
    for ground, colours in GROUNDS.items():
        draw(folder, ground, curve, points, alarms, colours)


def one_model():
    """The ROC curve of a forest on test rows, and where four goals and the habit 0.5 lie on it."""
    from sklearn.datasets import load_digits
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    import steelyard as sy
    import steelyard.measures as m

    X, digit = load_digits(return_X_y=True)
    y = digit == 8
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
    forest = RandomForestClassifier(100, min_samples_leaf=3, random_state=0)
    goals = {
        "best F1": (m.FBeta(1), None),
        "best F2": (m.FBeta(2), None),
        "most recall,\nfalse alarms ≤ 10 %": (m.Recall(), m.fpr <= 0.1),
        "most recall,\nprecision ≥ 95 %": (m.Recall(), m.Precision() >= 0.95),
    }
    points = {}
    for name, (measure, limit) in goals.items():
        tuned = sy.ThresholdClassifier(forest, measure, subject_to=limit).fit(X_train, y_train)
        rates = m.rates(y_test, tuned.predict(X_test))
        points[name] = (1 - rates.tnr, rates.tpr)
    rates = m.rates(y_test, tuned.estimator_.predict(X_test))
    points["threshold 0.5"] = (1 - rates.tnr, rates.tpr)
    front = sy.FrontierDisplay.from_estimator(tuned, X_test, y_test, plot=False).frontier
    return (1 - np.asarray(front.tnr), np.asarray(front.tpr)), points


def a_hundred_months():
    import matplotlib.pyplot as plt

    with contextlib.redirect_stdout(io.StringIO()):
        ran = runpy.run_path(str(EXAMPLES / "fraud_alarm_budget.py"))
    plt.close("all")
    return {name: values for name, values in ran["alarms"].items() if name.startswith("budget")}


def goals(ax, curve, points, ink, ours, theirs):
    ax.step(100 * curve[0], 100 * curve[1], where="post", color=ink, linewidth=1.2)
    for name, (fpr, tpr) in points.items():
        habit = name.startswith("threshold")
        ax.plot(100 * fpr, 100 * tpr, "X" if habit else "o", color=theirs if habit else ours, markersize=11)
        ax.annotate(name, (100 * fpr, 100 * tpr), xytext=(11, -7), textcoords="offset points", va="top")
    ax.set(xlim=(-0.5, 15), ylim=(30, 102), xlabel="false alarms, %", ylabel="found, %")
    ax.set_title("One model, many goals", loc="left")


def promise(ax, alarms, ink, ours, theirs):
    for (name, values), colour in zip(alarms.items(), (theirs, ours), strict=True):
        kind = "promised" if "promised" in name else "just met"
        label = f"{kind}: broken in {np.sum(values > 0.01)}"
        ax.hist(100 * values, bins=np.arange(0.2, 1.81, 0.1), color=colour, alpha=0.75, label=label)
    ax.axvline(1, color=ink, linestyle="--")
    place = {"xycoords": ("data", "axes fraction"), "xytext": (-5, -4), "textcoords": "offset points", "va": "top"}
    ax.annotate("the cap", (1, 1), ha="right", **place)
    ax.set(xlim=(0.1, 2.2), ylim=(0, 27), xlabel="false alarms on new rows, %", ylabel="of 100 samples")
    ax.set_title("A limit that is promised", loc="left", pad=12)
    ax.legend(frameon=False, loc="upper right")


def draw(folder, ground, curve, points, alarms, colours):
    import matplotlib.pyplot as plt

    style = dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.edgecolor"), colours[0])
    with plt.rc_context({**style, "font.size": 13, "axes.spines.top": False, "axes.spines.right": False}):
        for name, drawn in (
            ("goals", partial(goals, curve=curve, points=points)),
            ("promise", partial(promise, alarms=alarms)),
        ):
            figure, ax = plt.subplots(figsize=(5.6, 4.4), layout="constrained")
            ink, ours, theirs = colours
            drawn(ax, ink=ink, ours=ours, theirs=theirs)
            figure.savefig(folder / f"front_{name}_{ground}.svg", transparent=True)
            plt.close(figure)
