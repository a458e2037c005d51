"""The tables of the page on `compare`: what was recommended, and how far it is behind the best on fresh rows."""

import numpy as np
from made_tables import markdown


def comparing_table(found):
    """The one split that was always looked at, with the time."""
    rows, right = [], 0
    for name, parts in _by_set(found).items():
        fresh, choice = parts[0]
        behind, error, best = _behind(fresh, choice["recommended"])
        right += behind <= error
        said = "" if behind == 0 else f"{behind:.4f} ± {error:.4f}"
        value = f"{fresh['values'][choice['recommended']]:.4f}"
        ratio = f"{choice['seconds'] / choice['alone']:.2f}"
        rows.append((name, choice["recommended"], value, best, said, ratio))
    head = ("set", "recommended", "F1 on fresh rows", "best there", "behind it", "time / slowest alone")
    before = found["before"]
    held = sum(one["behind"] <= one["error"] for one in before)
    slow = [one["seconds"] / one["slowest"] for one in before]
    said = (
        f"Best, or behind by no more than the standard error of the difference on these rows: {right} of {len(rows)}. "
        f"Before thresholds were set on the scores of the other folds: {held} of {len(before)}, with times "
        f"of {min(slow):.1f} to {max(slow):.1f} (by the clock, over "
        f"the seconds that the slowest would have taken)."
    )
    return markdown(head, rows) + "\n\n" + said


def splits_table(found):
    """Over all splits: how often it holds, for the recommendation and for who is best on the mean; and the mean."""
    rows, ours, theirs, near, n = [], 0, 0, 0, 0
    for name, parts in _by_set(found).items():
        if len(parts) < 2:
            continue
        top = _best_on_the_mean(parts)
        chosen = [choice["recommended"] for _, choice in parts]
        held = [sum(_holds(fresh, one) for (fresh, _), one in zip(parts, who, strict=True))
                for who in (chosen, [top] * len(parts))]  # fmt: skip
        gaps = [fresh["values"][top] - fresh["values"][one] for (fresh, _), one in zip(parts, chosen, strict=True)]
        error = np.mean([_error(fresh, top, one) for (fresh, _), one in zip(parts, chosen, strict=True)])
        of = f"of {len(parts)}"
        of_mean = np.std(gaps, ddof=1) / np.sqrt(len(gaps))
        rows.append((name, top, f"{chosen.count(top)} {of}", f"{held[0]} {of}", f"{held[1]} {of}",
                     f"{np.mean(gaps):.4f} ± {of_mean:.4f}", f"{error:.4f}"))  # fmt: skip
        ours, theirs, n = ours + held[0], theirs + held[1], n + len(parts)
        near += np.mean(gaps) <= error
    if not rows:
        return "Further splits were not measured yet."
    head = ("set", "best on the mean", "recommended", "recommendation holds", "best on the mean holds",
            "recommendation behind it, mean", "error of one part")  # fmt: skip
    said = (
        f"By single fresh parts the recommendation holds in {ours} of {n}, and who is best on the mean, which is known "
        f"only afterwards, in {theirs} of {n}. On the mean over the splits the recommendation is behind that one by no "
        f"more than the standard error of one fresh part on {near} of {len(rows)} sets."
    )
    return markdown(head, rows) + "\n\n" + said


def choice_table(found):
    """On sets that do not judge: how far the first of a comparison is behind the best on fresh rows."""
    sets = list(found["sets"].values())
    behind = {}
    for said, nested, k in (
        ("nested: on scores of models that have not seen the fold judged", True, 1),
        ("on the scores of the other folds", False, 1),
        ("the same, two rounds of folds", False, 2),
        ("the same, three rounds of folds", False, 3),
    ):
        behind[said] = []
        for one in sets:
            values = {n: np.mean(v[:k]) for n, v in one["shared"].items()} | (one["nested"] if nested else {})
            behind[said].append(max(one["fresh"].values()) - one["fresh"][max(values, key=values.get)])
    behind["one round, but what is set for the measure within a standard error"] = [
        max(one["fresh"].values()) - one["fresh"][_set_for_it(one)] for one in sets
    ]
    rows = [(said, f"{np.mean(v):.4f}", f"{np.median(v):.4f}", f"{np.max(v):.4f}") for said, v in behind.items()]
    gaps = [one["nested"][n] - one["shared"][n][0] for one in sets for n in one["nested"]]
    said = (
        f"What a threshold's contender is worth, nested less on the other folds' scores: "
        f"{np.mean(gaps):+.4f} on the mean of {len(gaps)} "
        f"pairs, with a standard error of {np.std(gaps, ddof=1) / np.sqrt(len(gaps)):.4f}."
    )
    return markdown(("threshold and folds", "F1 behind the best, mean", "median", "most"), rows) + "\n\n" + said


def _set_for_it(one):
    """The tie-break of `compare`: the best of those set for the measure, unless more than a standard error behind."""
    value = {name: values[0] for name, values in one["shared"].items()}
    top = max(value, key=value.get)
    near = [top]
    for name in value:
        gaps = np.subtract(one["folds"][top], one["folds"][name])
        error = np.sqrt((1 / len(gaps) + 1 / (len(gaps) - 1)) * gaps.var(ddof=1))
        if name.endswith(("threshold", "measure", "(stream)")) and value[top] - value[name] <= error:
            near.append(name)
    return max(near, key=lambda name: (name.endswith(("threshold", "measure", "(stream)")), value[name]))


def _best_on_the_mean(parts):
    return max(parts[0][0]["values"], key=lambda name: np.mean([fresh["values"][name] for fresh, _ in parts]))


def _by_set(found):
    """For each set its splits in order, those of which both parts are there."""
    by_set = {}
    for key in sorted(found["splits"], key=lambda key: (key.rsplit(" ", 1)[0], int(key.rsplit(" ", 1)[1]))):
        one = found["splits"][key]
        if len(one) == 2:
            by_set.setdefault(key.rsplit(" ", 1)[0], []).append((one["fresh"], one["choice"]))
    return by_set


def _error(fresh, a, b):
    return 0.0 if a == b else fresh["errors"].get(f"{a} | {b}") or fresh["errors"][f"{b} | {a}"]


def _behind(fresh, name):
    best = max(fresh["values"], key=fresh["values"].get)
    return fresh["values"][best] - fresh["values"][name], _error(fresh, name, best), best


def _holds(fresh, name):
    behind, error, _ = _behind(fresh, name)
    return behind <= error
