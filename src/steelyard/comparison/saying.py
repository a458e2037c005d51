"""The recommendation in one sentence, which says when a difference is noise."""

from __future__ import annotations

from .result import BROKEN, UNCLEAR, Facts, Standing

QUICKER = 3.0  # times: below that nobody changes a model for its speed


def recommendation(facts: Facts) -> str:
    """Who is best, by how much and whether that is noise, what is as good and quicker, and how constraints fare."""
    best, *others = facts.standings
    said = f"Take {best.name}: {facts.measure} {best.value.value:.4f} on rows left out"
    rivals = [one for one in others if one.kept != BROKEN and one.promised >= best.promised]
    if rivals:
        said += f", {_lead(best, rivals)}"
    return said + _constraints(facts, best) + "."


def _lead(best: Standing, rivals: list[Standing]) -> str:
    second = max(rivals, key=lambda one: one.value.value)
    noise = [one for one in rivals if one.is_noise]
    if second.difference > 0:  # one that is set for the measure was preferred
        return f"{second.difference:.4f} ± {second.error:.4f} behind {second.name}, which is noise" + _same(best, noise)
    gap = f"{abs(second.difference):.4f} ± {second.error:.4f} ahead of {second.name}"
    if not noise:
        return f"{gap}, beyond noise"
    return (f"{gap}, which is noise" if second.is_noise else gap) + _same(best, noise)


def _same(best: Standing, noise: list[Standing]) -> str:
    """How many are as good, and whether one of them is much quicker."""
    same = f"; {len(noise)} of the others are as good within noise" if len(noise) > 1 else ""
    quick = min(noise, key=lambda one: one.seconds)
    if quick.seconds * QUICKER < best.seconds:
        which = ", of which" if same else ";"
        same += f"{which} {quick.name} takes {quick.seconds:.2g} s and not {best.seconds:.2g} s"
    return same


def _constraints(facts: Facts, best: Standing) -> str:
    if not facts.spelled:
        return ""
    under = ", ".join(facts.spelled)
    if best.kept == BROKEN:
        return f"; nobody keeps {under} on rows left out, and it does not either"
    ends = ", ".join(
        f"{name} {limit.value:.4f} [{limit.low:.4f}, {limit.high:.4f}]"
        for name, limit in zip(facts.bounded, best.limits, strict=True)
    )
    if best.promised:
        return f"; {under} is promised on unseen rows but for {100 * (facts.delta or 0):g} %, seen: {ends}"
    said = "missed by no more than noise" if best.kept == UNCLEAR else "kept"
    more = ", delta= promises it" if facts.delta is None else ", and nobody could promise it"
    return f"; {under} is {said} ({ends}{more})"
