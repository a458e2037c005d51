"""Tables of fits on Dask collections, from ``benchmarks/results/cluster.json``, and a model of their time.

The model is fitted here, to the runs of the benchmark's part "scale" that make it (`MAKING`); the others check it:

    seconds = client + tasks x overhead of one + rounds x rows x seconds of a row / workers

A run on one worker has ``rounds x partitions`` tasks. Seconds are those of the processors, client and worker together:
they work in turns, and the machine had other work. What is extrapolated adds the three terms, as if nothing
overlapped.
"""

import numpy as np
from made_tables import markdown
from scipy.optimize import nnls

MAKING = 4  # the first runs make the model
A_PARTITION = 1_000_000  # rows of a partition in what is extrapolated: 400 MB of 50 columns
CLUSTERS = {"16 machines of 16 cores": 256, "100 machines of 64 cores": 6_400}
NO = "*No results yet: run `python benchmarks/cluster.py`.*"


def is_whole(name, found):
    """A model is not made of too few runs."""
    return name != "scale" or len(found["runs"]) > MAKING


def part(name):
    """A table of one part of the file, if it has been run."""

    def decorate(make):
        return lambda found: make(found[name]) if name in found and is_whole(name, found[name]) else NO

    return decorate


@part("equal")
def equal_table(found):
    fits = [one for one in found["fits"] if "loss" in one]
    rows = [
        (
            one["workers"],
            one["loss"].replace("_", " "),
            f"{one['tol']:.0e}",
            f"{one['difference']:.1e}",
            f"{one['of_memory']:.1e}",
            f"{one['of_cluster']:.1e}",
        )
        for one in fits
    ]
    thresholds = [one["same_bits"] for one in found["fits"] if "threshold" in one]
    header = ("processes", "loss", "`tol`", "partitions against memory", "memory's own error", "the partitions' own")
    said = (
        f"{found['rows']:,} x {found['columns']} in {found['partitions']} partitions; largest relative difference of a "
        "coefficient. Own errors are against the fit in memory at `tol=1e-12`. Thresholds of a fitted model were the "
        f"same to the bit in {sum(thresholds)} of {len(thresholds)} cases.\n\n"
    )
    return said + markdown(header, rows)


@part("bytes")
def bytes_table(found):
    rows = [
        (
            f"{one['rows']:,}",
            f"{one['bytes_of_X'] / 1e6:,.0f} MB",
            one["grid_rounds"],
            f"{one['grid_bytes'] / one['grid_rounds'] / 1e3:,.0f} kB",
        )
        for one in found["runs"]
    ]
    return markdown(("rows", "X", "rounds of a grid", "bytes of one round"), rows)


@part("time")
def time_table(found):
    memory = found["memory"]

    def cells(one):
        out = []
        for job in ("grid", "classifier"):
            if job not in one:
                out += ["", "", ""]
                continue
            wall, cpu, there = one[job]["wall"], one[job]["cpu"], memory[job]
            out += [f"{wall:.1f} s", f"{cpu:.1f} s", f"{wall / there['wall']:.2f}, {cpu / there['cpu']:.2f}"]
        return out

    rows = [("memory, one thread", "", *cells(memory))]
    names = [f"{one['workers']} worker{'s' * (one['workers'] > 1)}" for one in found["runs"]]
    rows += [(name, one["partitions"], *cells(one)) for name, one in zip(names, found["runs"], strict=True)]
    header = ("", "partitions", "grid", "processor", "ratios", "`MeasureClassifier`", "processor", "ratios")
    return f"{found['rows']:,} x {found['columns']}, `tol=1e-3`.\n\n" + markdown(header, rows)


def _model(runs):
    """Client seconds, seconds of a task, and seconds of a row in a round."""
    terms = np.array([(1.0, one["rounds"] * one["partitions"], one["rounds"] * one["rows"]) for one in runs])
    scale = terms.max(axis=0)
    found, _ = nnls(terms / scale, np.array([one["cpu"] for one in runs]))
    return found / scale


def _stream_model(runs):
    terms = np.array([(1.0, one["partitions"], one["rows"]) for one in runs])
    scale = terms.max(axis=0)
    found, _ = nnls(terms / scale, np.array([one["stream_cpu"] for one in runs]))
    return found / scale


@part("scale")
def model_table(found):
    runs = found["runs"]
    client, task, row = _model(runs[:MAKING])
    start, each, of_row = _stream_model(runs[:MAKING])
    rows = []
    for k, one in enumerate(runs):
        said = client + one["rounds"] * (one["partitions"] * task + one["rows"] * row)
        stream = start + one["partitions"] * each + one["rows"] * of_row
        rows.append(
            (
                "makes the model" if k < MAKING else "**checks it**",
                f"{one['rows']:,}",
                one["partitions"],
                one["rounds"],
                f"{one['cpu']:.1f} s",
                f"{said:.1f} s ({100 * (said / one['cpu'] - 1):+.0f} %)",
                f"{one['stream_cpu']:.2f} s",
                f"{stream:.2f} s ({100 * (stream / one['stream_cpu'] - 1):+.0f} %)",
            )
        )
    said = (
        f"One worker, processor seconds, {found['columns']} columns: {client:.1f} s of the client, "
        f"{1e3 * task:.1f} ms a task, {1e9 * row:.0f} ns a row in a round; of the stream {start:.2f} s, "
        f"{1e3 * each:.1f} ms a partition and {1e9 * of_row:.0f} ns a row.\n\n"
    )
    header = ("", "rows", "partitions", "rounds", "`MeasureClassifier`", "model", "`OnlineClassifier`", "model")
    return said + markdown(header, rows)


@part("scale")
def extrapolated_table(found):
    runs = found["runs"]
    client, task, row = _model(runs[:MAKING])
    start, each, of_row = _stream_model(runs[:MAKING])
    rounds = int(np.median([one["rounds"] for one in runs]))
    rows = []
    for n in (10**9, 10**12):
        for name, workers in CLUSTERS.items():
            tasks = n // A_PARTITION
            batch = client + rounds * (tasks * task + n * row / workers)
            stream = start + tasks * each + n * of_row / workers
            needs = n * found["columns"] * 8 / 1e12
            rows.append((f"10^{len(str(n)) - 1}", name, f"{needs:,.1f} TB", _said(batch), _said(stream)))
    header = ("rows", "cluster", "X", f"`MeasureClassifier`, {rounds} rounds", "`OnlineClassifier`, one pass")
    return markdown(header, rows)


def _said(seconds):
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


@part("stream")
def stream_table(found):
    streams = sorted({one["streams"] for one in found["runs"]})
    names = list(dict.fromkeys(one["measure"] for one in found["runs"]))
    cell = {(one["measure"], one["streams"]): f"{one['loss']:.4f} ± {one['error']:.4f}" for one in found["runs"]}
    rows = [(f"{n} of {found['rows'] // n:,} rows", *(cell[name, n] for name in names)) for n in streams]
    return markdown(("streams", *(f"{name} lost" for name in names)), rows)


@part("memory")
def memory_table(found):
    rows = [
        ("rows", f"{found['rows']:,} x {found['columns']}, Parquet, float32"),
        ("X", f"{found['bytes'] / 2**30:.2f} GiB, {found['times']:.1f} times the worker's limit"),
        ("limit of the worker's memory, enforced", f"{found['limit'] / 2**20:.0f} MiB"),
        ("most that it used", f"{found['peak'] / 2**20:.0f} MiB"),
        (
            "the fit",
            f"{found['wall']:.0f} s, {found['rounds']} rounds, each of which reads the files; gap {found['gap']:.1e}",
        ),
        ("F1 on 200,000 new rows", f"{found['F1']:.4f}"),
        ("a worker had to be started again", "no" if found["no_worker_restarted"] else "yes"),
    ]
    return markdown(("", ""), rows)


@part("faults")
def faults_table(found):
    runs = found["runs"]
    same = sum(one["same_bits"] for one in runs)
    longest, late = max(one["seconds"] for one in runs), sum(not one.get("in_time", True) for one in runs)
    return (
        f"{len(runs)} fits of {found['rows']:,} rows on {found['workers']} workers, one worker killed (SIGKILL) in "
        f"each, at moments spread over its rounds: {same} of {len(runs)} had the same bits as the fit that nobody "
        f"disturbed. That one took {found['seconds']:.1f} s, the longest of the others {longest:.1f} s; none hung."
        + (f" ({late} kills came after the end.)" if late else "")
    )


TABLES = {
    "scale_equal": equal_table,
    "scale_bytes": bytes_table,
    "scale_time": time_table,
    "scale_model": model_table,
    "scale_extrapolated": extrapolated_table,
    "scale_stream": stream_table,
    "scale_memory": memory_table,
    "scale_faults": faults_table,
}
