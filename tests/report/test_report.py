"""Reports without a browser: every point is the one that counting finds, and the page holds what it should and no more."""

import base64
import json
import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import steelyard as sy
import steelyard.measures as m
from steelyard.report import numbers


def counted(y, called):
    pos, called = y == "default", np.asarray(called)
    return tuple(int(np.sum(one)) for one in (called & pos, called & ~pos, ~called & pos, ~called & ~pos))


def data_in(html):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', html, re.S)[1])


# -- points -----------------------------------------------------------------------------------------------------------
def test_it_opens_where_the_model_stands(rows, tuned, report):
    _, (X, y, _) = rows
    assert report.recommended_.threshold == tuned.best_threshold_
    assert report.recommended_.counts == counted(y, tuned.predict(X) == "default")
    theirs = tuned.report(X, y)
    for name, figure in report.recommended_.figures.items():
        assert figure == theirs[name]
    assert report.recommended_.promised


def test_every_point_is_what_counting_finds(rows, tuned, report):
    _, (X, y, group) = rows
    scores = tuned.predict_proba(X)[:, tuned.classes_.tolist().index("default")]
    points = report._reading.points
    assert len(points) == len(np.unique(scores)) + 1
    assert (np.diff(points.thresholds) > 0).all()
    for k in (0, 1, 17, 400, len(points) - 1):
        point = report.at(points.threshold(k))
        called = scores > points.threshold(k)
        assert (point.index, point.counts) == (k, counted(y, called))
        before = tuned.predict(X) == "default"
        assert point.changed == (np.sum(called & ~before), np.sum(before & ~called))
        inside = group == "north"
        tp, fp, fn, tn = counted(y[inside], called[inside])
        assert point.groups["north"]["tpr"].value == tp / (tp + fn)
        assert point.groups["north"]["fpr"].value == fp / (fp + tn)


def test_a_path_and_its_rows_that_turn_back(rows, path_report):
    _, (X, y, _) = rows
    points, path = path_report._reading.points, path_report._reading.model
    assert points.turning  # or this test shows nothing
    for k in np.linspace(0, len(points) - 1, 12).astype(int).tolist():
        called = path[-1].at(points.threshold(k)).predict(path[0].transform(X)) == "default"
        assert (points.called(k) == called).all()
        tp, fp = points.counts()
        assert (tp[k], fp[k]) == counted(y, called)[:2]


def test_costs_and_alarms_choose_the_point_that_trying_all_would(rows, tuned, report):
    _, (X, y, _) = rows
    scores = tuned.predict_proba(X)[:, tuned.classes_.tolist().index("default")]
    all_counts = np.array([counted(y, scores > t) for t in np.r_[-1, np.sort(scores)]])
    tp, fp, fn, tn = all_counts.T
    for ratio, share in ((7.3, None), (0.4, None), (30.0, 0.02)):
        p = np.mean(y == "default") if share is None else share
        cost = (1 - p) * fp / (fp + tn) + ratio * p * fn / (tp + fn)
        found = report.at(cost_ratio=ratio, prevalence=share)
        a, b, c, d = found.counts
        assert (1 - p) * b / (b + d) + ratio * p * c / (a + c) == pytest.approx(cost.min())
        assert found.cost_ratios[0] <= ratio <= found.cost_ratios[1]
    called = report.at(alarms=123).counts
    assert abs(1000 * (called[0] + called[1]) / len(y) - 123) <= np.min(np.abs(1000 * (tp + fp) / len(y) - 123)) + 1e-9


def test_the_best_under_a_constraint_is_that_of_the_threshold_classifier(rows, tuned, report):
    _, (X, y, _) = rows
    model = tuned.estimator_
    for limit in ("fpr <= 0.02", "Precision() >= 0.7", "tpr >= 0.8"):
        theirs = sy.ThresholdClassifier(model, "f1", subject_to=limit, cv="prefit", pos_label="default").fit(X, y)
        assert report.best(limit).counts == counted(y, theirs.predict(X) == "default")
    with pytest.raises(sy.InfeasibleError):
        report.best("tpr + tnr >= 1.999")


def test_prevalence_in_use(report):
    rare = report.at(alarms=100, prevalence=0.01)
    tp, fp, fn, tn = rare.counts
    share = 0.01 * tp / (tp + fn) + 0.99 * fp / (fp + tn)
    assert rare.alarms.value == pytest.approx(1000 * share)
    assert rare["Precision()"].value == pytest.approx(0.01 * tp / (tp + fn) / share)
    assert rare["Precision()"].low < rare["Precision()"].value < rare["Precision()"].high


# -- numbers ----------------------------------------------------------------------------------------------------------
def test_the_shortest_number_of_a_gap_is_in_it():
    rng = np.random.default_rng(0)
    edges = np.sort(np.r_[rng.normal(size=400), rng.normal(size=50) * 1e-9, 0.5, 0.5 + 1e-15, -1e-300, 1e300])
    low, high = edges[:-1], edges[1:]
    found, there = numbers.shortest_between(low, high)
    assert ((low < found) & (found < high))[there].all()
    assert not there[np.searchsorted(low, 0.5, side="left")]
    assert there.sum() > 440


def test_packed_numbers_are_read_back():
    def sevens(text):
        number, place = 0, 0
        for byte in base64.b64decode(text):
            number += (byte & 127) << place
            place += 7
            if not byte & 128:
                yield number
                number, place = 0, 0

    rising = np.cumsum(np.random.default_rng(0).integers(0, 2**40, 200) * (np.arange(200) % 3 > 0))
    halved, rest = numbers.packed_rising(rising).split(" ")
    steps = [odd << half for odd, half in zip(sevens(rest), base64.b64decode(halved), strict=True)]
    assert np.cumsum(steps).tolist() == rising.tolist()
    assert np.cumsum(list(sevens(numbers.packed_places(rising)))).tolist() == rising.tolist()


# -- the page ---------------------------------------------------------------------------------------------------------
def test_strange_names_are_text(rows, report):
    html = report.html()
    assert html.count("<script") == 2  # the data and the program
    assert "<script>alert" not in html
    assert "http://" not in html.replace("http://www.w3.org", "")
    assert "https://" not in html
    assert not re.search(r"\{\{\w+\}\}", html)
    data = data_in(html)
    assert [one["name"] for one in data["sets"]] == ["<script>alert(1)</script>", "north", "south"]
    (X, y), (X_new, y_new, _) = rows
    odd = sy.Report(LogisticRegression().fit(X, y), X_new, y_new, title="</script>{{data}}\u2028")
    assert data_in(odd.html())["title"] == "</script>{{data}}\u2028"


def test_save_and_the_view_of_a_notebook(report, tmp_path):
    report.save(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == report.html()
    shown = report._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert shown.count('"') == 8  # nothing inside ends the attribute
    with pytest.raises(sy.ModelFileError, match="no folder"):
        report.save(tmp_path / "none" / "r.html")


def test_the_line_of_python_gives_the_classifier(rows, tuned, report, path_report):
    (X, y), (X_new, y_new, _) = rows
    ridge = RidgeClassifier().fit(X, y)
    lines = [(report, tuned, 0.3), (path_report, path_report._reading.model, 0.3)]
    lines += [(sy.Report(ridge, X_new, y_new, pos_label="default"), ridge, -0.2)]
    ours = sy.ThresholdClassifier(RidgeClassifier(), "f1", pos_label="default").fit(X, y)
    lines += [(sy.Report(ours, X_new, y_new), ours, 0.1)]
    for made, model, threshold in lines:
        point, reading = made.at(threshold), made._reading
        before, line = reading.line()
        names = {"model": model}
        exec(before + "\n" + line.format(threshold=point.threshold - reading.shift), names)
        assert counted(y_new, names["clf"].predict(X_new) == "default") == point.counts


def test_files_of_models(rows, tuned, tmp_path):
    pytest.importorskip("skops")
    _, (X, y, _) = rows
    sy.save(tuned, tmp_path / "m")
    by_file = sy.Report(tmp_path / "m", X, y)
    assert by_file.recommended_ == sy.Report(tuned, X, y).recommended_
    assert f"model = sy.load({str(tmp_path / 'm')!r})" in by_file._reading.line()[0]


def test_models_of_all_kinds(rows):
    (X, y), (X_new, y_new, _) = rows
    goal = {"pos_label": "default", "random_state": 0}
    for model in (
        make_pipeline(StandardScaler(), sy.MeasureClassifier("f1", **goal)),
        sy.OnlineClassifier("f1", **goal),
        sy.NeymanPearsonClassifier(0.05, pos_label="default", random_state=0),
        LogisticRegression(),
    ):
        made = sy.Report(clone(model).fit(X, y), X_new, y_new, pos_label="default")
        assert len(made.html()) > 20_000
        own = made._reading.own
        called = made._reading.model.predict(X_new) == "default"
        assert own is not None
        assert (made._reading.points.called(own) == called).all()
    assert [repr(one) for one in sy.Report(
        sy.NeymanPearsonClassifier(0.05, pos_label="default", random_state=0).fit(X, y), X_new, y_new).constraints
    ] == ["fpr <= 0.05"]  # fmt: skip


def test_a_promise_of_precision_is_one_of_single_thresholds(rows):
    (X, y), (X_new, y_new, _) = rows
    model = sy.ThresholdClassifier(
        LogisticRegression(),
        "recall",
        subject_to="Precision() >= 0.3",
        delta=0.2,
        cv=0.5,
        pos_label="default",
        random_state=0,
    )
    made = sy.Report(model.fit(X, y), X_new, y_new)
    assert made.recommended_.promised
    points = made._reading.points
    promised = [k for k in range(len(points)) if made._is_promised(k)]
    passed = model.promise_.trial.thresholds[model.promise_.trial.passed(model.promise_.goal)]
    assert {points.threshold(k) for k in promised} <= set(passed.tolist())


def test_many_groups_are_taken_together(rows, tuned):
    _, (X, y, _) = rows
    made = sy.Report(tuned, X, y, slices=np.arange(len(y)) % 37)
    names = list(made.recommended_.groups)
    assert len(names) == 20
    assert names[-1] == "the other 18 groups"


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"measure": m.macro(m.FBeta(1))}, ValueError, "two classes"),
        ({"subject_to": m.within("north", m.fpr) <= 0.1}, ValueError, "no limit within groups"),
        ({"slices": [None] * 800}, ValueError, "have none"),
        ({"baselines": {"no": 3}}, TypeError, "baseline 'no'"),
        ({"confidence": 2.0}, ValueError, "confidence"),
    ],
)
def test_mistakes_are_explained(rows, tuned, change, error, said):
    _, (X, y, _) = rows
    with pytest.raises(error, match=said):
        sy.Report(tuned, X, y, **change)


def test_what_has_no_threshold_is_refused(rows, tuned):
    (X, y), (X_new, y_new, _) = rows
    by_group = sy.ThresholdClassifier(LogisticRegression(), "f1", per_group=True, pos_label="default")
    with pytest.raises(ValueError, match="each group"):
        sy.Report(by_group.fit(X, y, slices=np.arange(len(y)) % 2), X_new, y_new)
    several = np.arange(len(y)) % 3
    of_classes = sy.ThresholdClassifier(LogisticRegression(), "f1_macro").fit(X, several)
    with pytest.raises(ValueError, match="two classes and one threshold"):
        sy.Report(of_classes, X_new, np.arange(len(y_new)) % 3)
    with pytest.raises(ValueError, match="y holds 3 classes"):
        sy.Report(LogisticRegression().fit(X, several), X_new, np.arange(len(y_new)) % 3)
    with pytest.raises(ValueError, match="class"):
        sy.Report(tuned, X_new[:1], y_new[:1])
    with pytest.raises(ValueError, match="give one of"):
        sy.Report(tuned, X_new, y_new).at(0.3, alarms=5)
    without = DummyClassifier().fit(X, y)
    assert sy.Report(without, X_new, y_new, pos_label="default").recommended_.counts is not None
