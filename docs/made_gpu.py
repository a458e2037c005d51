"""Tables of rows on a GPU, from ``benchmarks/results/gpu.json``."""

from made_tables import markdown


def gpu_table(found):
    grid, classifier, threshold = found["grid"], found["classifier"], found["threshold"]
    rows = [
        (
            f"the grid of 9 cost ratios x 8 Cs, {loss.replace('_', ' ')}",
            f"{g['seconds']:.2f} s",
            f"{g['certified']} of {g['problems']} certified, largest gap {g['largest_gap']:.1e}; {g['passes']} passes",
        )
        for loss, g in grid.items()
    ]
    turn = found["round"]
    rows += [
        (
            "a round for nine ratios, hinge, from one C to the next",
            f"{turn['round_ms']:.0f} ms",
            f"{turn['pass_ms']:.1f} ms of it the pass over all rows; Newton on {turn['sample_rows']:,} rows",
        ),
        ('the same of `solver="bundle"`', f"{found['bundle']['ms_a_round']:.0f} ms", "plain products, no kernel"),
    ]
    for name, c in classifier.items():
        rows.append(
            (
                f'`MeasureClassifier(FBeta(1), loss="{name}")`',
                f"{c['seconds']:.1f} s",
                f"F1 {c['F1_new_rows']:.4f} on 1M new rows, gap {c['gap']:.1e}; `predict` {c['predict_ms']:.0f} ms",
            )
        )
    other = found["opponent"]
    told = f"F1 {other['F1_new_rows']:.4f} with its exact threshold; {other['evaluations']} evaluations, no certificate"
    rows.append(("one logistic regression, torch's LBFGS", f"{other['seconds']:.2f} s", told))
    for C, p in found["path"].items():
        rows.append(
            (f"`CostPath`, {C}", f"{p['seconds']:.1f} s", f"{p['knots']} knots, gap {p['gap']:.1e} at every tau")
        )
    names = {"F1": "F1", "BAKLD": "BAKLD", "recall": "recall with FPR <= 1 %"}
    for name, words in names.items():
        rows.append(
            (
                f"exact threshold, {words}",
                f"{threshold[name]:.1f} ms",
                "a sort alone " + f"{threshold['a sort']:.1f} ms",
            )
        )
    shape = f"{found['rows']:,} x {found['columns']} float32 on one {found['device']}, torch {found['torch']}"
    return f"**{shape}.**\n\n" + markdown(("", "time", ""), rows)


def kernel_table(found):
    names = {"plain products": "plain products", "one read (sum of X)": "one read of X (its sum)"}
    rows = [(names.get(name, name), f"{ms:.1f} ms") for name, ms in found["kernel"].items()]
    return markdown(("a pass for nine models", "time"), rows)
