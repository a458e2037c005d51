"""The tables of the page on `compare`: what was recommended, and how far it is behind the best on fresh rows."""

from itertools import combinations

import numpy as np
from made_tables import markdown

FOLDS = 5  # of a round


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
        if _is_set_for_it(name) and value[top] - value[name] <= error:
            near.append(name)
    return max(near, key=lambda name: (_is_set_for_it(name), value[name]))


def rounds_table(found):
    """On sets that do not judge: what more rounds of folds change, for all contenders or for those in the race."""
    sets, rows, gaps, fits = list(found["sets"].values()), [], [], []
    for said, n_rounds, errors in (
        ("one round", 1, 1.0),
        ("three rounds for those within one standard error of the first", 3, 1.0),
        ("three rounds for those within two", 3, 2.0),
        ("three rounds for all", 3, np.inf),
        ("five rounds for all", 5, np.inf),
    ):
        chosen = [_raced(one["counts"], n_rounds, errors) for one in sets]
        behind = [_behind(one, name) for one, (name, _) in zip(sets, chosen, strict=True)]
        gaps.append([gap for gap, _, _ in behind])
        held = sum(gap <= error for gap, error, _ in behind)
        fits.append(np.mean([n for _, n in chosen]))
        rows.append((said, _mean_and_error(gaps[-1]), f"{held} of {len(sets)}", f"{fits[-1] / fits[0]:.1f}"))
    said = (
        f"The second line less the first: {_mean_and_error(np.subtract(gaps[1], gaps[0]))}. What one round says of the "
        f"difference of two of the four best has a standard deviation over rounds of {_over_rounds(sets):.4f}, on the "
        f"mean over sets. {_said_of_the_judged(list(found['judged'].values()))}"
    )
    head = ("folds", "F1 behind the best, mean", "holds", "fits, of one round")
    return markdown(head, rows) + "\n\n" + said


def _said_of_the_judged(parts):
    """What the second line did on the ten sets above."""
    held = [sum(one[key]["behind"] <= one[key]["error"] for one in parts) for key in ("once", "race")]
    change = _mean_and_error([one["race"]["behind"] - one["once"]["behind"] for one in parts])
    same = sum(one["race"]["recommended"] == one["once"]["recommended"] for one in parts)
    ratios = [one["race"]["seconds"] / one["race"]["alone"] for one in parts if one["race"]["alone"]]
    return (
        f"On {len(parts)} parts of the ten sets above it held in {held[1]}, one round in {held[0]}; both recommended "
        f"the same in {same}, and the difference in F1 behind the best is {change}. It took {min(ratios):.1f} to "
        f"{max(ratios):.1f} times its slowest contender."
    )


def _raced(counts, n_rounds, errors):
    """Whom `compare` would recommend, and the fits of a fold, where folds are drawn again for those within so many
    errors of the first."""
    counts = {name: _parsed(folds) for name, folds in counts.items()}
    values = {name: np.array([_f1(fold) for fold in folds]) for name, folds in counts.items()}
    running, fits = list(counts), 0
    for n in FOLDS * np.arange(1, n_rounds + 1):
        fits += len({name.removesuffix(", our threshold") for name in running})
        value = {name: _f1(counts[name][:n].sum(0)) for name in running}
        first = max(value, key=value.get)
        behind = {name: value[first] - value[name] for name in running}
        error = {name: np.sqrt((1 / n + 1 / (FOLDS - 1)) * np.var(values[first][:n] - values[name][:n], ddof=1))
                 for name in running}  # fmt: skip
        running = [name for name in running if np.isinf(errors) or behind[name] <= errors * error[name]]
        if len(running) == 1:
            break
    ours = [name for name in running if _is_set_for_it(name) and behind[name] <= error[name]]
    return first if first in ours or not ours else max(ours, key=value.get), fits


def _over_rounds(sets):
    found = []
    for one in sets:
        rounds = {name: _parsed(folds).reshape(-1, FOLDS, 4).sum(1) for name, folds in one["counts"].items()}
        value = {name: np.array([_f1(counts) for counts in rounds[name]]) for name in rounds}
        best = sorted(value, key=lambda name: value[name].mean())[-4:]
        found.append(np.sqrt(np.mean([np.var(value[a] - value[b], ddof=1) for a, b in combinations(best, 2)])))
    return np.mean(found)


def _parsed(folds):
    return np.array([fold.split() for fold in folds], dtype=int)


def _f1(counts):
    _, fp, fn, tp = counts
    return 2 * tp / max(2 * tp + fp + fn, 1)


def _mean_and_error(values):
    return f"{np.mean(values):.4f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.4f}"


def _is_set_for_it(name):
    return name.endswith(("threshold", "measure", "(stream)"))


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
    return 0.0 if a == b else fresh["errors"].get(f"{a} | {b}", fresh["errors"].get(f"{b} | {a}"))


def _behind(fresh, name):
    best = max(fresh["values"], key=fresh["values"].get)
    return fresh["values"][best] - fresh["values"][name], _error(fresh, name, best), best


def _holds(fresh, name):
    behind, error, _ = _behind(fresh, name)
    return behind <= error
