"""The tables of the linear learners of several classes, from ``benchmarks/results/class_learners.json``."""

from made_tables import markdown

OTHERS = {"argmax": "logistic regression", "offsets": "its offsets tuned", "balanced": "balanced weights"}


def lead(one):
    text = f"{one['difference']:+.3f} ± {one['error']:.3f}"
    text = f"**{text}**" if abs(one["difference"]) > 2 * one["error"] else text
    return text + (" ({}/{})".format(*one["sets"]) if "sets" in one else "")


def rows(found, wanted):
    for cell in found["cells"]:
        if wanted(cell):
            against = [lead(cell["against"][other]) for other in OTHERS]
            yield cell["measure"], cell["ours"], cell["set"], f"{cell['value']:.3f}", *against


def table(found):
    records = found["records"]
    sets = {record["set"] for record in records}
    seconds = {who: sum(record["seconds"][who] for record in records) / len(records) for who in records[0]["seconds"]}
    note = (
        f"Linear models over {len(sets)} sets, {found['splits']} splits each: the mean on test rows, and the lead over "
        "scikit-learn's logistic regression as it is, with offsets by `ThresholdClassifier`, and with "
        "`class_weight='balanced'`, with its standard error over the sets; sets won/lost. Bold is beyond two standard "
        f"errors, either way. Seconds a fit: {', '.join(f'{who} {one:.1f}' for who, one in seconds.items())}."
    )
    body = [(what, who, *rest) for what, who, _, *rest in rows(found, lambda cell: cell["set"] == "all")]
    return note + "\n\n" + markdown(("measure", "ours", "value", *OTHERS.values()), body)


def by_set(found):
    note = "The same set by set, standard errors over the splits:"
    body = list(rows(found, lambda cell: cell["set"] != "all"))
    return note + "\n\n" + markdown(("measure", "ours", "set", "value", *OTHERS.values()), body)


FROM = {"class_learners": "class_learners", "class_learners_by_set": "class_learners"}
TABLES = {"class_learners": table, "class_learners_by_set": by_set}
