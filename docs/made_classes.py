"""Tables and pictures of several classes, from ``classes.json`` and ``neyman_pearson_classes.json`` of the results."""

import numpy as np
from made_tables import markdown

WHO = ("argmax", "class weights", "one-vs-rest", "Frank-Wolfe")


def table(found):
    def show(against, who):
        if who not in against:
            return ""
        one = against[who]
        text = f"{one['difference']:+.3f} ± {one['error']:.3f}"
        text = f"**{text}**" if one["p"] < 0.05 else text
        return text + " ({}/{}/{})".format(*one["sets"])

    cells = found["cells"].items()
    body = [(name, f"{cell['ours']:.3f}", *(show(cell["against"], who) for who in WHO)) for name, cell in cells]
    sets = max(len(sets) for sets in found["values"].values())
    seconds = ", ".join(f"{size} in {one:.1f} s" for size, one in found["speed"].items())
    note = (
        f"Offsets over up to {sets} sets of at most {found['rows']:,} rows, {found['splits']} splits each: the mean on "
        "test rows, and the lead over the same model's argmax, over the model with class_weight='balanced', over "
        "one-vs-rest models with tuned thresholds, and over Frank-Wolfe on class weights, with its standard error over "
        "sets; bold where Wilcoxon's test says p < 0.05; sets won/tied/lost. "
    )
    if seconds:
        note += f"Time of the search alone, macro F1 of simulated probabilities: {seconds}."
    return note + "\n\n" + markdown(("model, measure", "ours", *WHO), body)


def caps_table(found):
    body = []
    for setting, contenders in found["settings"].items():
        for who, one in contenders.items():
            if not one["made"]:
                body.append((setting, who, f"0 of {one['sets']}", "", "", "", ""))
                continue
            capped = ", ".join(f"{error:.3f}" for error in one["errors of capped"].values())
            error = f"{one['error']:.3f} ± {one['error se']:.3f}"
            made, over = f"{one['made']} of {one['sets']}", f"{one['over a cap by']:.0%}"
            body.append((setting, who, made, f"{one['kept']:.2f}", capped, over, error))
    promises = "; ".join(
        f"{setting}: {one['made']} of {one['sets']} made, {round((1 - one['kept']) * one['made'])} of them broken"
        for setting, one in found["promises"].items()
    )
    note = (
        f"Caps on two classes, with logistic regression; true rates on {found['test rows']:,} rows. *Both kept* is the "
        f"share of sets on which both true errors are within their caps; the promise is for {1 - found['delta']:.0%}. "
        f"Promises on more simulated sets: {promises}."
    )
    head = ("setting", "rule", "made", "both kept", "errors under caps", "over a cap by", "error of the others")
    return note + "\n\n" + markdown(head, body)


def figures(folder):
    """Four classes of uneven size, before and after the offsets for the worst recall."""
    from sklearn.datasets import make_classification
    from sklearn.linear_model import LogisticRegression

    import steelyard as sy
    import steelyard.measures as m

    sizes = {"n_classes": 4, "weights": [0.6, 0.22, 0.12, 0.06]}
    X, codes = make_classification(6000, 10, n_informative=6, class_sep=1.4, flip_y=0.02, random_state=4, **sizes)
    y = np.array(["routine", "delayed", "damaged", "lost"])[codes]
    clf = sy.ThresholdClassifier(LogisticRegression(), m.worst(m.Recall())).fit(X[:3000], y[:3000])
    sy.ClassConfusionDisplay.from_estimator(clf, X[3000:], y[3000:]).figure_.savefig(folder / "class_confusion.svg")
    sy.ClassFrontierDisplay.from_estimator(clf, X[3000:], y[3000:]).figure_.savefig(folder / "class_frontier.svg")


FROM = {"classes": "classes", "neyman_pearson_classes": "neyman_pearson_classes"}
TABLES = {"classes": table, "neyman_pearson_classes": caps_table}
