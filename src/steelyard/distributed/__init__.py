"""Rows in the partitions of a Dask collection: every round of a solver is a sum over partitions, made of plain tasks.

    X = dask.dataframe.read_parquet("rows/*.parquet")
    y = X.pop("label")
    model = sy.MeasureClassifier(FBeta(1)).fit(X, y)      # an ordinary classifier: it pickles, it predicts on numpy
    model.predict(X)                                      # lazy

Estimators look at the type of X; the default client is used where there is one, and Dask's own scheduler otherwise. No
task is pinned to a worker and none waits for another but by its inputs, so that Dask recomputes what a lost worker
held; sums are taken in a fixed order, so that the answer has the same bits. A round moves a few numbers for each
column, of whatever many rows. What there is: `rounds` (tasks, tree, errors), `table` (from collections to checked
partitions), `part` (the sums of one partition), `rows` (all partitions, as solvers ask for them), `class_risks` (for
the bundle), `thresholds` (the exact threshold and quantiles by bins that are made finer), `journal` (checkpoints),
`lazy` (predict).
"""

from __future__ import annotations

NEEDS = 'this needs Dask, which is an extra: pip install "steelyard[dask]"'


def need_dask() -> None:
    """An error that names the extra, where Dask is missing."""
    try:
        import dask.array
        import dask.dataframe
        import dask.delayed  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{NEEDS} ({error})") from error
