"""The table of several classes, from ``benchmarks/results/classes.json``."""

from made_tables import markdown

WHO = ("argmax", "class weights", "one-vs-rest")


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
    sets = len({record["set"] for record in found["records"]})
    seconds = ", ".join(f"{size} in {one:.1f} s" for size, one in found["speed"].items())
    note = (
        f"Offsets over {sets} sets, {found['splits']} splits each: the mean on test rows, and the lead over the same "
        "model's argmax, over the model with class_weight='balanced', and over one-vs-rest models with tuned "
        "thresholds, with its standard error over sets; bold where Wilcoxon's test says p < 0.05; sets won/tied/lost. "
        f"Time of the search alone, macro F1 of simulated probabilities: {seconds}."
    )
    return note + "\n\n" + markdown(("model, measure", "ours", *WHO), body)


FROM = {"classes": "classes"}
TABLES = {"classes": table}
