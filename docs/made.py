"""What the docs show and nobody types: tables from ``benchmarks/results/*.json``, figures from code, and
the output of examples.

`everything` writes them into ``docs/generated``; pages include them from there. A table whose JSON is missing becomes a
line that says which benchmark to run.
"""

import json
import subprocess
import sys
from pathlib import Path

import made_batch
import made_class_learners
import made_classes
import made_coming_from
import made_comparing
import made_counting
import made_counting_classes
import made_faults
import made_front
import made_full_size
import made_gpu
import made_inside
import made_neural
import made_neyman_pearson
import made_online
import made_path
import made_path_views
import made_promises
import made_qvalue
import made_report
import made_scale
import made_structural
import made_thresholds
from made_tables import markdown

RESULTS = Path(__file__).parent.parent / "benchmarks" / "results"
EXAMPLES = ("five_minutes", "unknown_costs", "false_discoveries")  # those whose output a page shows


def everything(folder):
    """All of it; figures that were drawn are closed, or the gallery would show them."""
    import matplotlib.pyplot as plt

    _everything(folder)
    plt.close("all")


def _everything(folder):
    folder.mkdir(exist_ok=True)
    for name, make in TABLES.items():
        benchmark = FROM.get(name, name)
        path = RESULTS / f"{benchmark}.json"
        if path.exists():
            found = json.loads(path.read_text())
            text = make(found) + "\n\n" + _where(found["machine"])
        else:
            text = f"*No results yet: run `python benchmarks/{benchmark}.py`.*"
        (folder / f"{name}.md").write_text(text + "\n")
    (folder / "measures.md").write_text(measures_table() + "\n")
    frontier_figure(folder / "frontier.svg")
    copy_figures(folder)
    made_batch.figures(RESULTS, folder)
    made_front.figures(folder)
    made_coming_from.texts(RESULTS, folder)
    made_classes.figures(folder)
    made_counting.figures(RESULTS, folder)
    made_inside.everything(folder)
    made_structural.figures(RESULTS, folder)
    made_neyman_pearson.figures(RESULTS, folder)
    made_path_views.everything(RESULTS, folder)
    made_qvalue.figures(RESULTS, folder)
    for name in EXAMPLES:
        (folder / f"{name}.txt").write_text(printed(name))


def printed(example):
    path = RESULTS.parent.parent / "examples" / f"{example}.py"
    return subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=True).stdout


def _where(machine):
    versions = ", ".join(f"{name} {machine[name]}" for name in ("python", "numpy", "scikit-learn"))
    return f"*Measured on {machine['cores']} cores of {machine['cpu']}; {versions}.*"


def thresholds_table(found):
    rows = [
        (
            f"`{name}`",
            f"{c['tuning_s']:.3f} s",
            f"{c['model_s']:.2f} s",
            f"{c['f1_out_of_fold']:.5f}",
            f"{c['f1_test']:.5f}",
        )
        for name, c in found["contenders"].items()
    ]
    header = ("", "tuning", "models' own fits and scores", "F1 out of fold", "F1 on test")
    per_row = ", ".join(f"{bytes_:.0f} at {int(n):,} rows" for n, bytes_ in found["bytes_per_row_at_peak"].items())
    return (
        markdown(header, rows)
        + f"\n\nThe tuning itself is **{found['times_faster']:.0f} times** faster ({found['rows']:,} rows x "
        + f"{found['features']} features, five folds). Peak memory of the tuning in bytes a row: {per_row}."
    )


def promise_table(found):
    rows = [
        (name, f"{r['violations']:.3f}", f"{r['mean_fpr']:.4f}", f"{r['tpr']:.3f}")
        for name, r in found["rules"].items()
    ]
    header = ("threshold by", "share of runs above the cap", "mean FPR", "TPR")
    cap, size = found["cap"], f"{found['runs']:,} data sets of {found['rows']} rows, half of them held out"
    return markdown(header, rows) + f"\n\nCap {cap:g}, {size}; rates are exact, from the known distributions."


def copy_figures(folder):
    for figure in RESULTS.glob("*.svg"):
        (folder / figure.name).write_bytes(figure.read_bytes())


def measures_table():
    import steelyard.measures as m

    rows = []
    for cls in m.NAMED:
        measure = cls()
        doc = (cls.__doc__ or "").split("\n")[0].replace("|", "\\|")
        slopes = measure.monotonicity
        rises = "yes" if measure.is_monotone else "not known" if "unknown" in slopes.values() else "no"
        rows.append((f"`{measure!r}`", doc, measure.curvature, str(measure.range), rises))
    return markdown(("measure", "what it is", "curvature", "range", "rises in both rates"), rows)


def frontier_figure(path):
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import train_test_split
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    import steelyard as sy
    import steelyard.measures as m

    X, digit = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, digit == 8, test_size=0.5, stratify=digit == 8, random_state=0
    )
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.7), layout="constrained")
    goals = [(m.FBeta(1), None, "roc"), (m.Recall(), m.fpr <= 0.05, "roc"), (m.BAKLD(), None, "rates")]
    for ax, (measure, cap, plane) in zip(axes, goals, strict=True):
        tuned = sy.ThresholdClassifier(model, measure, subject_to=cap).fit(X_train, y_train)
        sy.FrontierDisplay.from_estimator(tuned, X_test, y_test, ax=ax, axes=plane)
    figure.savefig(path)
    plt.close(figure)


FROM = {  # tables made from a file of another name
    "structural_quality": "structural",
    "structural_optimum": "structural",
    "qvalue_recipes": "qvalue",
    "qvalue_brew": "qvalue_mokapot",
    "stream_choices": "stream_caps",
    "gpu_kernel": "gpu",
    "comparing_splits": "comparing",
    **made_class_learners.FROM,
    **made_classes.FROM,
    **made_counting.FROM,
    **made_counting_classes.FROM,
    **made_neural.FROM,
    **made_faults.FROM,
    **made_neyman_pearson.FROM,
    **made_promises.FROM,
    **dict.fromkeys(made_scale.TABLES, "cluster"),
}
TABLES = {
    "comparing": made_comparing.comparing_table,
    "comparing_splits": made_comparing.splits_table,
    "comparing_choice": made_comparing.choice_table,
    "comparing_rounds": made_comparing.rounds_table,
    "report": made_report.size_table,
    "thresholds": thresholds_table,
    "threshold_rules": made_thresholds.rules,
    "promise": promise_table,
    "online": made_online.online_table,
    "online_steps": made_online.online_steps_table,
    "quantification": made_online.quantification_table,
    "rare_classes": made_online.rare_classes_table,
    "stream_caps": made_online.stream_caps_table,
    "stream_choices": made_online.stream_choices_table,
    "stream_rows": made_online.stream_rows_table,
    "neyman_pearson_stream": made_online.neyman_pearson_stream_table,
    "batch": made_batch.batch_table,
    "gpu": made_gpu.gpu_table,
    "gpu_kernel": made_gpu.kernel_table,
    "full_size_speed": made_full_size.speed,
    "full_size_quality": made_full_size.quality,
    "full_size_growth": made_full_size.growth,
    "threshold_transfer": made_full_size.transfer,
    "path": made_path.path_table,
    "path_sweep": made_path.sweep_table,
    "calibration": made_path_views.calibration_table,
    "cost_path": made_path_views.cost_path_table,
    "quantiles": made_path_views.quantiles_table,
    "qvalue": made_qvalue.qvalue_table,
    "qvalue_recipes": made_qvalue.recipes_table,
    "qvalue_kernel": made_qvalue.kernel_table,
    "qvalue_choice": made_qvalue.choice_table,
    "qvalue_mokapot": made_qvalue.mokapot_table,
    "qvalue_brew": made_qvalue.brew_table,
    "qvalue_thinning": made_qvalue.thinning_table,
    "qvalue_entrapment": made_qvalue.entrapment_table,
    "qvalue_bounds": made_qvalue.bounds_table,
    "qvalue_few": made_qvalue.few_table,
    "qvalue_network": made_qvalue.network_table,
    "frontier": made_batch.frontier_table,
    "fmeasure": made_batch.fmeasure_table,
    "structural": made_structural.structural_table,
    "structural_quality": made_structural.quality_table,
    "structural_optimum": made_structural.optimum_table,
    "neyman_pearson_linear": made_structural.neyman_pearson_table,
    **made_class_learners.TABLES,
    **made_classes.TABLES,
    **made_counting.TABLES,
    **made_counting_classes.TABLES,
    **made_faults.TABLES,
    **made_inside.TABLES,
    **made_neural.TABLES,
    **made_neyman_pearson.TABLES,
    **made_promises.TABLES,
    **made_scale.TABLES,
}
