"""Competition by its definition: one group, one target, one threshold at a time."""


def winners(scores, groups):
    """The possible sets of winners: for each group the rows with its best score."""
    found = {}
    for group in dict.fromkeys(groups):
        best = max(s for s, g in zip(scores, groups, strict=True) if g == group)
        found[group] = {i for i, (s, g) in enumerate(zip(scores, groups, strict=True)) if g == group and s == best}
    return found


def lead(scores, groups):
    out = []
    for i, (s, g) in enumerate(zip(scores, groups, strict=True)):
        others = [t for j, (t, h) in enumerate(zip(scores, groups, strict=True)) if h == g and j != i]
        out.append(s - max(others) if others else s - min(scores))
    return out


def mirrored(target, decoys):
    """Of one target without ties: the score that counts, and whether it is the target's."""
    ordered = sorted([target, *decoys], reverse=True)
    place, number = ordered.index(target), len(ordered)
    if place < number / 2:
        return target, True
    return ordered[number - 1 - place], False


def separate_q_values(targets, decoys, pi0, mix_max):
    """Keich, Kertesz-Farkas and Noble 2015, a threshold at a time; with mix_max=False ``pi0 D / T``."""

    def rate(u):
        wrong = pi0 * sum(z >= u for z in decoys)
        for z in decoys if mix_max else ():
            if z >= u:
                below = sum(w <= z for w in targets) / sum(y <= z for y in decoys)
                wrong += min(max(below - pi0, 0.0), 1.0 - pi0)
        return min(1.0, wrong / sum(w >= u for w in targets))

    return [min(rate(u) for u in targets if u <= w) for w in targets]
