"""q-values and lists by their definition, one threshold at a time."""


def q_values(scores, is_target, weight=None):
    weight = [1.0] * len(scores) if weight is None else weight

    def rate(u):
        above = [i for i, s in enumerate(scores) if s >= u]
        targets = sum(weight[i] for i in above if is_target[i])
        decoys = sum(weight[i] for i in above if not is_target[i])
        return (1 + decoys) / max(1, targets)

    return [min(rate(u) for u in scores if u <= s) for s in scores]


def longest_list(scores, is_target, max_q):
    """``(threshold, targets)`` of the longest list with ``(1 + decoys) / targets <= max_q``; inf and 0 if none is."""
    best = (float("inf"), 0)
    for u in set(scores):
        targets = sum(t for s, t in zip(scores, is_target, strict=True) if s >= u)
        decoys = sum(not t for s, t in zip(scores, is_target, strict=True) if s >= u)
        if targets and (1 + decoys) / targets <= max_q and u < best[0]:
            best = (u, targets)
    return best


def reset_list(scores, is_target, trains, max_q, decoys_per_target=1.0):
    """The targets that RESET accepts: every threshold in turn, training decoys aside, half of the decoys judge."""
    kept = [i for i in range(len(scores)) if not trains[i]]
    best = []
    for u in {scores[i] for i in kept}:
        above = [i for i in kept if scores[i] >= u]
        targets = [i for i in above if is_target[i]]
        judges = len(above) - len(targets)
        chance = 1 / (1 + decoys_per_target / 2)  # that a wrong row which is hidden is a target
        if targets and (1 + judges) * chance / (1 - chance) / len(targets) <= max_q and len(targets) > len(best):
            best = targets
    return sorted(best)
