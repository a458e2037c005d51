"""The tables of the page on faults: what was made of bad and odd input, by whom."""

from made_tables import markdown

OTHERS = ("SGDClassifier", "LinearSVC", "XGBoost", "LightGBM")
# From the best to the worst; a cell shows the worst of its calls.
ORDER = (
    "same", "answered", "refused", "refused, though it could be read", "error of another kind", "NaN",
    "asked for too much memory", "another model", "taken in silence", "hang", "crash",
)  # fmt: skip
WRONG = ORDER[ORDER.index("NaN") :]


def worst(verdicts):
    return max(verdicts, key=ORDER.index, default="")


def by_input(contenders):
    """input: the verdicts of all calls of all these."""
    found = {}
    for calls in contenders:
        for verdicts in calls.values():
            for given, verdict in verdicts.items():
                found.setdefault(given, []).append(verdict)
    return found


def inputs_table(found):
    """Every input: the worst that any estimator made of it in any call."""
    ours = by_input(found["ours"].values())
    others = {name: by_input([found["others"][name]]) for name in OTHERS if name in found["others"]}

    def cell(verdict):
        return f"**{verdict}**" if verdict in WRONG else verdict

    rows = [
        (given, cell(worst(verdicts)), *(cell(worst(other.get(given, []))) for other in others.values()))
        for given, verdicts in ours.items()
    ]
    return markdown(("input", "steelyard", *others), rows)


def counts_table(found):
    """How many calls came to what."""

    def counted(name, contenders):
        said = [verdict for calls in contenders for verdicts in calls.values() for verdict in verdicts.values()]
        return (
            name,
            len(said),
            sum(v in ("same", "answered", "refused") for v in said),
            sum(v in ("refused, though it could be read", "error of another kind") for v in said),
            sum(v in ("taken in silence", "another model", "NaN") for v in said),
            sum(v in ("crash", "hang", "asked for too much memory") for v in said),
        )

    rows = [counted("steelyard, 15 estimators", found["ours"].values())]
    rows += [counted(name, [found["others"][name]]) for name in OTHERS if name in found["others"]]
    said = ", ".join(f"{name} {number}" for name, number in found["versions"].items())
    header = ("", "calls", "right answer or clear error", "other error", "silently wrong", "crash, hang, memory")
    return markdown(header, rows) + f"\n\nCompared with {said}."


def border_table(found):
    """The shares of a fit's processor time that go to looking at X and y, and to telling two classes apart."""
    n, d = found["rows"]

    def cell(one):
        return f"{100 * one['share']:.1f} + {100 * one['share_classes']:.1f} % of {1000 * one['fit']:,.0f} ms"

    kinds = list(next(iter(found["fits"].values())))
    rows = [(name, *(cell(fit[kind]) for kind in kinds)) for name, fit in found["fits"].items()]
    return markdown((f"fit of {n:,} x {d}", *kinds), rows)


def fuzz_table(found):
    """How long each function of the fuzzer has run, those with the most first."""
    bindings = sorted(found["bindings"].items(), key=lambda one: -one[1]["seconds"])
    rows = [
        (f"`{name}`", f"{one['seconds']:,.0f}", f"{one['tries']:,.0f}", f"{one['answered']:,.0f}", len(one["crashed"]))
        for name, one in bindings
    ]
    return markdown(("odd calls of", "seconds of a processor", "tries", "answered", "crashed or hung"), rows)


def no_memory_table(found):
    """For each model what came of failing allocations, its calls together."""

    def cell(calls):
        if calls is None:
            return ""
        tried, wrong = sum(one["tried"] for one in calls.values()), sum(len(one["wrong"]) for one in calls.values())
        return f"{tried:,}" + (f", **{wrong} wrong**" if wrong else "")

    rows = [(name, cell(one.get("core")), cell(one.get("all"))) for name, one in found["models"].items()]
    return markdown(("model", "failures in the core", "in the whole process"), rows)


TABLES = {
    "inputs": inputs_table,
    "inputs_counts": counts_table,
    "border": border_table,
    "fuzz": fuzz_table,
    "no_memory": no_memory_table,
}
FROM = {"inputs_counts": "inputs"}
