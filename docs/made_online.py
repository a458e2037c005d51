"""Tables of the page on streams, from ``benchmarks/results``."""

from made_tables import markdown


def online_table(found):
    rows = []
    for name, case in found["cases"].items():
        speed, times, wanted = case["rows_per_s"], case["times_sgd"], case["wanted"]
        rows.append(
            (
                f"{name}, {case['rows']:,} x {case['features']:,}",
                f"{speed['sgd'] / 1e6:.1f} M",
                f"{speed['loop'] / 1e6:.1f} M",
                f"**{times['loop']:.1f}** (aim {wanted['loop']:g})",
                f"**{times['fit']:.1f}** (aim {wanted['fit']:g})",
                f"{100 * case['share_of_read_bandwidth']:.0f} % of {case['read_gb_per_s']:.0f} GB/s",
                f"{speed['bare'] / 1e6:.1f} M, {100 * case['bare_share_of_read_bandwidth']:.0f} %"
                if "bare" in speed
                else "",
            )
        )
    header = ("", "SGD, rows/s", "the loop, rows/s", "loop over SGD", "`fit` over SGD", "read bandwidth used",
              "a bare loop, rows/s and bandwidth")  # fmt: skip
    return markdown(header, rows)


def online_steps_table(found):
    sets = found["sets"]
    rows = [
        (
            name,
            f"{one['rows']:,} x {one['features']:,}",
            *(f"{one[label]['gap']:+.4f} ± {one[label]['standard_error']:.4f}" for label in ("BAKLD", "NegKLD")),
            "yes" if one["within"] else "**no**",
        )
        for name, one in sets.items()
    ]
    met = sum(one["within"] for one in sets.values())
    return f"Within 0.005 (BAKLD) and 0.001 (KLD) of the tuned step on **{met} of {len(sets)}** sets.\n\n" + markdown(
        ("", "size", "BAKLD, auto minus tuned", "NegKLD, auto minus tuned", "within"), rows
    )


def quantification_table(found):
    rows = [(name, v["claim"], f"{v['held']} of {v['of']} panels") for name, v in found["verdicts"].items()]
    kld = [
        (
            f"{name} ({100 * one['prevalence']:.2g} %)",
            *(f"{one[who]['kld']:.5f} / {one[who]['ba']:.3f}" for who in one if who != "prevalence"),
        )
        for name, one in found["figure 3"].items()
    ]
    whos = [who for who in next(iter(found["figure 3"].values())) if who != "prevalence"]
    return (
        markdown(("", "claim", "held"), rows)
        + "\n\nKLD and balanced accuracy when NegKLD is all that is asked for:\n\n"
        + markdown(("", *whos), kld)
    )


def neyman_pearson_stream_table(found):
    rows = [
        (
            name,
            f"{one['cap']:g}",
            *(
                f"{one[who]['false_alarms']:.4f} / {one[who]['missed']:.4f}"
                for who in ("online", "logistic regression")
            ),
            "yes" if one["cap_held"] else "**no**",
            "yes" if one["missed_at_or_below"] else "**no**",
        )
        for name, caps in found["problems"].items()
        for one in caps
    ]
    return markdown(
        ("", "cap", "online: false alarms / missed", "logistic regression", "cap held", "misses at or below"), rows
    )


def stream_caps_table(found):
    rows = [
        (
            one["set"],
            f"{one['rows']:,} x {one['features']:,}",
            f"{100 * one['cap']:g} %",
            f"{one['logistic']['score']:.3f}",
            *(f"{one[passes]['difference']:+.3f} ± {one[passes]['error']:.3f}" for passes in ("1", "3")),
            f"{one['1']['fpr'] / one['cap']:.2f} / {one['logistic']['fpr'] / one['cap']:.2f}",
        )
        for one in found["rows"]
    ]
    words = "; ".join(
        f"after {passes} pass{'es' if passes != '1' else ''} {of['mean']:+.3f} in the mean, least {of['least']:+.3f}, "
        f"{of['below']} of {of['cells']} below -0.03"
        for passes, of in ((p, found["summary"][p]) for p in ("1", "3"))
    )
    header = ("", "size", "cap", "logistic regression", "1 pass, difference", "3 passes", "FPR / cap, ours and theirs")
    return f"Over the first twelve sets: {words}.\n\n" + markdown(header, rows)


def stream_choices_table(found):
    names = [name for name in found["summary"] if name not in ("1", "3")]
    rows = [
        (name, f"{of['mean']:+.3f}", f"{of['least']:+.3f}", of["below"], f"{of['fpr_over_cap']:.2f}")
        for name, of in ((name, found["summary"][name]) for name in names)
    ]
    return markdown(("one pass", "mean difference", "least", "below -0.03", "FPR / cap"), rows)


def stream_rows_table(found):
    rows = [
        (
            name,
            f"{one['rows_per_s'] / 1e6:.1f} M",
            f"{one['share_of_plain']:.2f}{'' if one['in_claim'] else ' (no aim)'}",
        )
        for name, one in found["kinds"].items()
    ]
    csr = [
        (name, *(f"{one['rows_per_s'][who] / 1e6:.2f} M" for who in ("sgd", "ours")), f"{one['times_sgd']:.2f}")
        for name, one in found["csr"].items()
    ]
    return (
        markdown(("kind of row, 54 dense columns", "`fit`, rows/s", "share of the plain row's (aim 0.7)"), rows)
        + "\n\n"
        + markdown(("CSR, 80 non-zeros", "SGD, rows/s", "`fit`, rows/s", "over SGD (aim 1.5)"), csr)
    )


def rare_classes_table(found):
    classes = sorted(found["classes"].items(), key=lambda item: item[1]["positives"])
    whos = list(classes[0][1]["held"])
    rows = [
        (
            name,
            f"{one['positives']:.0f}",
            *(f"{one[who]['kld']:.5f} / {one[who]['ba']:.3f}{'' if one['held'][who] else ' **no**'}" for who in whos),
            f"{one['logistic regression']['kld']:.5f} / {one['logistic regression']['ba']:.3f}",
        )
        for name, one in classes
    ]
    return markdown(("", "positives", *whos, "logistic regression"), rows)
