"""The table of rules for few rows, from ``benchmarks/results/threshold_rules.json``."""

from made_tables import markdown

NAMES = {
    "exact": "exact threshold", "scikit-learn": "TunedThresholdClassifierCV", "plain": "the model as it is",
    "balanced": "class_weight", "smote": "SMOTE", "brf": "BalancedRandomForest", "easy": "EasyEnsemble",
    "ours on balanced": "ours on class_weight", "ours on brf": "ours on BalancedRandomForest",
}  # fmt: skip


def rules(found):
    def show(against, who):
        if who not in against:
            return ""
        one = against[who]
        text = f"{100 * one['difference']:+.1f} ± {100 * one['error']:.1f}"
        return f"**{text}**" if one["p"] < 0.05 else text

    body = [
        (name, f"{cell['ours']:.3f}", *(show(cell["against"], who) for who in NAMES))
        for name, cell in found["cells"].items()
    ]
    sets = max(cell["sets"] for cell in found["cells"].values())
    note = (
        f"The default rule over {sets} sets and samples, {found['seeds']} splits each, and its lead over every other, "
        "in points with the standard error over sets; bold where Wilcoxon's test says p < 0.05. Under the cap the "
        "Neyman-Pearson score is compared; what has no constraints loses it by breaking the cap."
    )
    return note + "\n\n" + markdown(("model, measure", "ours", *NAMES.values()), body)
