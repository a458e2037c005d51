"""The commands as a user gives them, in this process; `test_terminal.py` has those that need one of their own."""

import io
import json
import sys

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file, make_classification

import steelyard as sy
import steelyard.measures as m
from steelyard.cli import errors, main
from steelyard.cli.options import MODELS


def run(capsys, *arguments):
    code = main([str(one) for one in arguments])
    said = capsys.readouterr()
    return code, said.out, said.err


def truth(table):
    return np.array([line.rsplit(",", 1)[1] for line in table.read_text().splitlines()[1:]])


PROGRESS = {
    "threshold": "6 of 6: Pipeline on all rows",
    "batch": "MeasureClassifier: ",
    "online": "600 rows, ",
    "path": "CostPath: ",
    "kernel": "CostPath: ",
    "count": "5 of 5: Pipeline without part 5 of 5",
}


@pytest.mark.parametrize("model", [kind for kind in MODELS if kind != "count"])
def test_fit_and_predict(table, tmp_path, capsys, model):
    out = tmp_path / "model"
    goal = ("--measure", "0.5*BalancedAccuracy() + 0.5*NegKLD()", "--pos-label", "yes")
    code, said, shown = run(capsys, "fit", table, "--target", "label", *goal, "--model", model, "--out", out, "--json")
    assert code == 0
    assert PROGRESS[model] in shown  # and nothing but the result is on standard output
    found = json.loads(said)
    assert (found["rows"], found["classes"], found["pos_label"]) == (600, ["no", "yes"], "yes")
    code, said, _ = run(capsys, "predict", out, table)
    head, *called = said.split()
    assert (code, head, len(called)) == (0, "prediction", 600)
    assert m.BalancedAccuracy().score(truth(table), np.array(called)) > 0.75


def test_predict_takes_the_columns_by_name_and_without_the_target(table, tmp_path, capsys):
    out = tmp_path / "model"
    run(capsys, "fit", table, "--target", "label", "--pos-label", "yes", "--out", out, "--quiet")
    _, before, _ = run(capsys, "predict", out, table, "--scores")
    rows = [line.split(",")[:-1][::-1] for line in table.read_text().splitlines()]
    other = tmp_path / "turned.tsv"
    other.write_text("\n".join("\t".join(row) for row in rows))
    _, after, _ = run(capsys, "predict", out, other, "--scores")
    assert before == after
    model = sy.load(out)
    assert set(before.split()[1].split(",")) >= {str(model.classes_[0])} or "yes" in before


def test_standard_input_and_chunks(table, tmp_path, capsys, monkeypatch):
    from steelyard.cli import data

    out = tmp_path / "model"
    monkeypatch.setattr(sys, "stdin", io.StringIO(table.read_text()))
    assert (
        run(capsys, "fit", "-", "--target", "label", "--pos-label", "yes", "--model", "batch", "--out", out, "--quiet")[
            0
        ]
        == 0
    )
    whole = run(capsys, "predict", out, table)[1]
    monkeypatch.setattr(data.Source.blocks, "__defaults__", (7, None))
    assert run(capsys, "predict", out, table)[1] == whole


def test_predictions_in_a_file_and_as_json(table, tmp_path, capsys):
    out, labels = tmp_path / "model", tmp_path / "labels.csv"
    run(capsys, "fit", table, "--target", "label", "--pos-label", "yes", "--out", out, "--quiet")
    assert run(capsys, "predict", out, table, "--out", labels)[0] == 0
    said = run(capsys, "predict", out, table, "--json", "--scores")[1]
    assert [json.loads(line)["prediction"] for line in said.splitlines()] == labels.read_text().split()[1:]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv", "labels.csv", "model"]


def test_quantify(table, tmp_path, capsys):
    out = tmp_path / "model"
    code, _, shown = run(capsys, "fit", table, "--target", "label", "--model", "count", "--out", out)
    assert code == 0
    assert PROGRESS["count"] in shown
    code, said, shown = run(capsys, "fit", table, "--target", "label", "--model", "count", "--out", out, "--quiet")
    assert (code, shown) == (0, "")
    found = json.loads(run(capsys, "quantify", out, table, "--json")[1])
    share = np.mean(truth(table) == "yes")
    assert found["classes"]["yes"]["low"] < share < found["classes"]["yes"]["high"]
    code, _, err = run(capsys, "predict", out, table)
    assert (code, "steelyard quantify" in err) == (1, True)
    run(capsys, "fit", table, "--target", "label", "--pos-label", "yes", "--out", out, "--quiet")
    code, said, err = run(capsys, "quantify", out, table)
    assert (code, "600 rows" in said, "miscounts" in err) == (0, True, True)


def test_matrices(tmp_path, capsys):
    X, y = make_classification(300, 6, random_state=0)
    np.savez(tmp_path / "data.npz", X=X, y=y)
    dump_svmlight_file(X, y, str(tmp_path / "data.svm"), zero_based=False)
    for name, more in (("data.npz", ()), ("data.svm", ()), ("data.svm", ("--model", "online", "--features", 6))):
        assert run(capsys, "fit", tmp_path / name, *more, "--out", tmp_path / "model", "--quiet")[0] == 0
        called = run(capsys, "predict", tmp_path / "model", tmp_path / name)[1].split()[1:]
        assert np.mean(np.array(called, dtype=int) == y) > 0.7
    code, _, err = run(capsys, "fit", tmp_path / "data.svm", "--model", "online", "--out", tmp_path / "model")
    assert (code, "--features" in err) == (errors.USAGE, True)


def test_parquet(table, tmp_path, capsys):
    csv, parquet = pytest.importorskip("pyarrow.csv"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(csv.read_csv(table), tmp_path / "data.parquet")
    run(capsys, "fit", table, "--target", "label", "--pos-label", "yes", "--out", tmp_path / "a", "--quiet")
    run(
        capsys,
        "fit",
        tmp_path / "data.parquet",
        "--target",
        "label",
        "--pos-label",
        "yes",
        "--out",
        tmp_path / "b",
        "--quiet",
    )
    one, two = (run(capsys, "predict", tmp_path / name, tmp_path / "data.parquet")[1] for name in "ab")
    assert one == two


def test_a_promise_and_one_that_cannot_be_made(table, tmp_path, capsys):
    goal = (
        "--target",
        "label",
        "--pos-label",
        "yes",
        "--measure",
        "recall",
        "--delta",
        0.1,
        "--out",
        tmp_path / "m",
        "--quiet",
    )
    code, said, _ = run(capsys, "fit", table, *goal, "--subject-to", "fpr <= 0.1", "--json")
    assert code == 0
    assert "fpr <= 0.1" in json.loads(said)["promise"]
    code, _, err = run(capsys, "fit", table, *goal, "--subject-to", "fpr <= 0.0001")
    assert code == errors.REFUSED
    assert "rows" in err


def test_measures(capsys):
    code, said, _ = run(capsys, "measures")
    assert code == 0
    assert all(kind.__name__ in said for kind in m.NAMED)
    assert "concave" in run(capsys, "measures", "0.5*BalancedAccuracy() + 0.5*NegKLD()")[1]
    assert json.loads(run(capsys, "measures", "f1", "--json")[1])["curvature"] == "pseudo-linear"


@pytest.mark.parametrize(
    ("change", "arguments", "code", "said"),
    [
        (None, ("--target", "nope"), 1, "no column 'nope'; there are 'a', 'b'"),
        (None, ("--target", "Lable"), 1, "no column 'Lable' (did you mean label?); there are"),
        (None, (), 2, "--target"),
        (None, ("--target", "label", "--measure", "Fbeta(2)"), 2, "no measure 'Fbeta' (did you mean FBeta?)"),
        (None, ("--target", "label", "--subject-to", "fpr <= 5%"), 2, "cannot read this; a share is a number up to 1"),
        (None, ("--target", "label", "--subject-to", "fpr <= 5"), 2, "'fpr <= 5' holds for any classifier"),
        (None, ("--target", "label", "--subject-to", "precision >= 80"), 2, "80' holds for no classifier"),
        (
            None,
            ("--target", "label", "--delta", "0.05"),
            2,
            "--delta promises a constraint: say which with --subject-to",
        ),
        (
            None,
            ("--target", "label", "--subject-to", "fpr <= 0.1", "--delta", "5"),
            2,
            "such as 0.05, that the promise",
        ),
        (None, ("--target", "label", "--measure", "__import__('os').getcwd()"), 2, "cannot read"),
        (None, ("--target", "label", "--subject-to", "fpr < 1"), 2, "<= or >="),
        (None, ("--target", "label", "--pos-label", "maybe"), 2, "'no', 'yes'"),
        (None, ("--target", "a"), 1, "classes"),
        (
            None,
            ("--target", "label", "--model", "path", "--delta", "0.1", "--subject-to", "fpr <= 0.1"),
            2,
            "promises nothing",
        ),
        (lambda lines: [*lines[:50], "1,2,3", *lines[50:]], ("--target", "label"), 1, "line 51 has 3 fields"),
        (lambda lines: [*lines[:50], '1,2,3,4,5,"a\nb",1,yes,more'], ("--target", "label"), 1, "line 52 has 9 fields"),
        (lambda lines: [*lines[:9], "1,2,3,4,5,red,1,"], ("--target", "label"), 1, "label of row 9 is missing"),
        (lambda lines: [], ("--target", "label"), 1, "empty"),
        (lambda lines: lines[:1], ("--target", "label"), 1, "no rows"),
        (lambda lines: ["a,a,label", "1,2,yes"], ("--target", "label"), 1, "two columns"),
    ],
)
@pytest.mark.parametrize("model", ["batch", "online"])
def test_mistakes_are_explained(table, tmp_path, capsys, model, change, arguments, code, said):
    if change is not None:
        table.write_text("\n".join(change(table.read_text().splitlines())))
    model = () if "--model" in arguments else ("--model", model)
    found, out, err = run(capsys, "fit", table, *arguments, *model, "--out", tmp_path / "model", "--quiet")
    assert (found, out) == (code, "")
    assert said in err
    assert not (tmp_path / "model").exists()


def test_files_that_are_not_what_they_should_be(table, tmp_path, capsys):
    (tmp_path / "bytes.csv").write_bytes(b"a,label\n\xff\xfe,1\n")
    (tmp_path / "data.xyz").write_text("a\n")
    (tmp_path / "bad.npz").write_bytes(b"nothing")
    for name, said in (
        ("missing.csv", "No such file"),
        ("missing", "No such file"),
        ("bytes.csv", "UTF-8"),
        ("data.xyz", "--format"),
        ("bad.npz", "npz"),
    ):
        code, _, err = run(capsys, "fit", tmp_path / name, "--target", "label", "--out", tmp_path / "m", "--quiet")
        assert code == 1
        assert said in err
    assert run(capsys, "predict", table, table)[0] == 1
    run(capsys, "fit", table, "--target", "label", "--pos-label", "yes", "--out", tmp_path / "m", "--quiet")
    damaged = bytearray((tmp_path / "m").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "m").write_bytes(damaged)
    code, _, err = run(capsys, "predict", tmp_path / "m", table)
    assert code == 1
    assert str(tmp_path / "m") in err


def test_new_rows_with_another_kind_of_column(table, tmp_path, capsys):
    run(capsys, "fit", table, "--target", "label", "--pos-label", "yes", "--out", tmp_path / "m", "--quiet")
    other = tmp_path / "other.csv"
    other.write_text("a,b,c,d,e,colour,<script>\nmany,1,1,1,1,blue,1\n")
    code, _, err = run(capsys, "predict", tmp_path / "m", other)
    assert (code, "column 'a' had numbers" in err) == (1, True)
    other.write_text("a,b\n1,2\n")
    code, said, why = run(capsys, "predict", tmp_path / "m", other)
    assert (code, said) == (1, "")  # no head of a table that does not come
    assert "needs a column 'c'" in why
    assert run(capsys, "predict", tmp_path / "m", tmp_path / "none.csv")[:2] == (1, "")
    other.write_text("a,b,c,d,e,colour,<script>\n1,1,?,1,NA,never seen,\n")
    assert run(capsys, "predict", tmp_path / "m", other)[0] == 0


@pytest.mark.slow
def test_compare(table, tmp_path, capsys):
    goal = ("--measure", "f1", "--pos-label", "yes", "--folds", 3)
    code, said, err = run(capsys, "compare", table, "--target", "label", *goal, "--json", "--out", tmp_path / "m")
    assert code == 0
    found = json.loads(said)
    assert found["failures"] == {}
    assert len(found["contenders"]) == 12
    assert found["best"] in found["recommendation"]
    assert "37 of 37" in err
    code, _, err = run(capsys, "predict", tmp_path / "m", table)
    trusted = err[err.index("--trusted") :].split() if code else []
    assert ("trees" in found["best"] or "forest" in found["best"]) == bool(trusted)
    code, said, _ = run(capsys, "predict", tmp_path / "m", table, *trusted)
    assert code == 0
    assert m.FBeta(1).score(truth(table), np.array(said.split()[1:]), pos_label="yes") > 0.8


@pytest.mark.parametrize("model", ["threshold", "batch", "path"])
def test_report(table, tmp_path, capsys, model):
    page = tmp_path / "r.html"
    goal = ("--target", "label", "--pos-label", "yes", "--measure", "recall", "--subject-to", "fpr <= 0.1")
    code, said, _ = run(capsys, "report", table, *goal, "--groups", "colour", "--model", model, "--out", page, "--json")
    assert code == 0
    found = json.loads(said)
    assert (found["rows"], found["report"]) == (180, str(page))
    assert 0.0 < found["figures"]["tpr"][0] <= 1.0
    html = page.read_text()
    assert "<script>," not in html  # the name of a column
    assert "boosted trees" in html
    assert "\\u003cscript>" in html


def test_report_on_a_model_of_a_file(table, tmp_path, capsys):
    from cli.conftest import written

    out, page, new = tmp_path / "m", tmp_path / "r.html", written(tmp_path / "new.csv", 300, seed=1)
    run(capsys, "fit", table, "--target", "label", "--pos-label", "yes", "--out", out, "--quiet")
    code, said, err = run(capsys, "report", new, "--target", "label", "--from", out, "--out", page)
    assert (code, "300 rows" in said, "FBeta" in err) == (0, True, True)
    saved = tmp_path / "saved"
    arguments = ("report", new, "--target", "label", "--pos-label", "yes", "--out", page, "--quiet")
    assert run(capsys, *arguments, "--save-model", saved)[0] == 0
    assert "sy.load(" in page.read_text()
    assert sy.load(saved).predict([["0"] * 5 + ["red", "1"]]).shape == (1,)


def test_a_report_that_cannot_be_written(table, tmp_path, capsys, monkeypatch):
    import errno

    from steelyard.files import replace

    goal = ("--target", "label", "--pos-label", "yes", "--quiet")
    code, _, err = run(capsys, "report", table, *goal, "--out", tmp_path / "none" / "r.html")
    assert (code, "no folder" in err) == (1, True)
    code, _, err = run(capsys, "report", table, *goal, "--groups", "nope", "--out", tmp_path / "r.html")
    assert (code, "no column 'nope'" in err) == (1, True)
    code, _, err = run(capsys, "report", table, *goal, "--measure", "f1_macro", "--out", tmp_path / "r.html")
    assert (code, "two classes" in err) == (errors.USAGE, True)

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "r.html"))

    monkeypatch.setattr(replace, "_write_all", full)
    code, _, err = run(capsys, "report", table, *goal, "--out", tmp_path / "r.html")
    assert code == 1
    assert "disk is full" in err
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_what_is_said_of_the_table_and_of_the_positive_class(table, tmp_path, capsys):
    _, _, err = run(capsys, "fit", table, "--target", "label", "--model", "batch", "--out", tmp_path / "m")
    assert "600 rows\nnumbers: a, b, c, d, e, <script>\ncategories: colour\nprepared by ColumnTransformer" in err
    assert "'yes' is taken as the positive class" in err
    assert "Say so with --pos-label 'yes'" in err


def test_scikit_learns_names_with_score(table, capsys):
    for name, same in (("f1_score", "f1"), ("balanced_accuracy_score", "balanced_accuracy")):
        assert run(capsys, "measures", name) == run(capsys, "measures", same)
