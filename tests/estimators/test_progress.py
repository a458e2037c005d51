"""Progress: what every long fit says with ``verbose``, in a terminal and in a file, and that nobody pays for it who does
not look."""

import io
import itertools
import re

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier

import steelyard as sy
import steelyard.measures as m
from steelyard.estimators import _progress
from steelyard.estimators._progress import Progress, Share, Steps, watching
from steelyard.solvers.search.work import State, Work


@pytest.fixture(scope="module")
def rows():
    return make_classification(600, 6, weights=[0.8], flip_y=0.05, random_state=0)


class Screen(io.StringIO):
    def isatty(self):
        return True


def clock(monkeypatch, *times):
    """What `time.perf_counter` says, one after the other."""
    told = itertools.chain(times, itertools.repeat(times[-1]))
    monkeypatch.setattr(_progress.time, "perf_counter", lambda: next(told))


# -- what is shown ------------------------------------------------------------------------------------------------
def test_a_bar_of_rich_in_a_terminal():
    pytest.importorskip("rich")
    for made, does, said in (
        (Steps(1, total=2, out=(steps := Screen())), lambda s: [s.step("one"), s.step("[two]")], "2 of 2: [two]"),
        (Progress(1, total=9, out=(bar := Screen())), lambda s: [s.update(4, "f1"), s.update(5, "f1")], "9 of 9 rows"),
        (Share(1, out=(share := Screen())), lambda s: [s.at(0.3, "a"), s.at(1.0, "cut 7")], "about 100 %: cut 7"),
    ):
        with made as shown:
            does(shown)
        screen = {Steps: steps, Progress: bar, Share: share}[type(made)]
        assert said in screen.getvalue()
        assert "\u2501" in screen.getvalue()  # the bar itself


def test_lines_once_a_second_and_the_last_one(monkeypatch):
    clock(monkeypatch, 0.0, 0.5, 1.5, 1.5, 1.6, 4.0)
    with Share(1, out=(out := io.StringIO())) as shown:
        for share in (0.1, 0.5, 0.9):
            shown.at(share, f"{share}")
    assert [line.split(": ")[-1] for line in out.getvalue().splitlines()] == ["0.5", "0.9"]
    assert out.getvalue().startswith("about 50 %, about 2 s left: 0.5")
    with Share(2, out=(out := io.StringIO())) as shown:
        shown.at(0.1, "every one")
        shown.at(0.2, "for two")
    assert len(out.getvalue().splitlines()) == 2


def test_what_takes_longer_than_expected_says_so(monkeypatch):
    shown = Share(1, out=io.StringIO())
    clock(monkeypatch, 0.0)
    shown._start = 0.0
    clock(monkeypatch, 10.0)
    shown.at(0.5, "")
    for now, said in ((12.0, "about 8 s left"), (19.9, "about 1 s left"), (60.0, "longer than expected")):
        clock(monkeypatch, now)
        assert shown._left() == said
    clock(monkeypatch, 1000.0)
    shown.at(0.5, "")
    assert shown._left() == "about 17 min left"


def test_nothing_is_shown_without_verbose():
    for made in (Steps(0, 2, out=(out := Screen())), Share(0, out=out), Progress(0, out=out)):
        with made as shown:
            shown._show(1.0, "", "")
    assert out.getvalue() == ""
    with watching(0, "", lambda state: (0.0, "")) as watch:
        assert watch is None


# -- who says it --------------------------------------------------------------------------------------------------
LONG = {
    "measure": (lambda v: sy.MeasureClassifier("f1", random_state=0, verbose=v), "MeasureClassifier, 40 models on 480 rows"),
    "can": (lambda v: sy.MeasureClassifier("f1", solver="can", random_state=0, verbose=v), "a level of CAN; best so far 0."),
    "classes": (
        lambda v: sy.MeasureClassifier(m.macro(m.FBeta(1)), C=1.0, random_state=0, verbose=v),
        "the offsets of 4 models on 600 rows; best so far 0.",
    ),
    "structural": (lambda v: sy.StructuralSVM("f1", C=10.0, verbose=v), "StructuralSVM, cut 1, objective"),
    "path": (lambda v: sy.CostPath(random_state=0, verbose=v), "kinks for tau in [0, 1], solved"),
    "neyman-pearson": (lambda v: sy.NeymanPearsonClassifier(0.1, random_state=0, verbose=v), "without fold 2 of 5"),
    "threshold": (lambda v: sy.ThresholdClassifier(LogisticRegression(), "f1", cv=3, verbose=v), "part 2 of 3 scored"),
    "offsets": (lambda v: sy.ThresholdClassifier(LogisticRegression(), m.macro(m.FBeta(1)), cv=3, verbose=v), "part 2 of 3"),
    "online": (lambda v: sy.OnlineClassifier(max_iter=3, random_state=0, verbose=v), "BAKLD(weight=0.5) 0."),
}  # fmt: skip


@pytest.mark.parametrize("name", LONG)
def test_what_is_tried_how_much_of_it_and_the_time_left(rows, name, capsys):
    make, said = LONG[name]
    quiet = make(0).fit(*rows)
    assert capsys.readouterr() == ("", "")
    shown = make(2).fit(*rows)
    out, err = capsys.readouterr()
    assert out == ""  # which belongs to results
    assert said in err
    if name != "path":  # whose lines come every so many kinks
        assert re.search(r"about \d+ s left", err)
        assert re.search(r"^(about \d+ %|\d+ of \d+|[\d,]+ of [\d,]+ rows)", err)
    if hasattr(shown, "predict"):
        np.testing.assert_array_equal(shown.predict(rows[0]), quiet.predict(rows[0]))
    for fitted in ("coef_", "kinks_"):
        if hasattr(shown, fitted):
            np.testing.assert_array_equal(getattr(shown, fitted), getattr(quiet, fitted))


def test_progress_of_a_quantifier(rows, capsys):
    quiet = sy.Quantifier(LogisticRegression(), cv=3).fit(*rows)
    assert capsys.readouterr() == ("", "")
    shown = sy.Quantifier(LogisticRegression(), cv=3, verbose=1).fit(*rows)
    assert [line.split(",")[0].split(":")[0] for line in capsys.readouterr().err.splitlines()] == [
        "1 of 3", "2 of 3", "3 of 3",
    ]  # fmt: skip
    assert (shown.predict(rows[0]) == quiet.predict(rows[0])).all()


# -- the share of a search ----------------------------------------------------------------------------------------
def states_of(fit):
    """What the solver tells while `fit` runs."""
    seen = []

    def spying(verbose, name, said, out=None):
        def both(state):
            seen.append(state)
            return said(state)

        return watching(verbose, name, both, io.StringIO())

    with pytest.MonkeyPatch.context() as patch:
        for module in ("measure_classifier", "_measure_classes", "structural"):
            patch.setattr(f"steelyard.estimators.{module}.watching", spying)
        fit()
    return seen


def test_a_race_knows_about_how_far_it_is():
    """The work is corrected as models are dropped: at the end of the last round little is left, and little is wrong."""
    X, y = make_classification(20_000, 10, weights=[0.8], flip_y=0.1, random_state=0)
    seen = states_of(lambda: sy.MeasureClassifier("f1", random_state=0, verbose=1).fit(X, y))
    shares = [state.share for state in seen]
    assert shares[0] < 0.1
    assert 0.6 < shares[-1] < 1.0  # the fit on all rows is to come
    assert all(later > 0.5 * share for share, later in itertools.pairwise(shares))
    assert seen[-1].doing.endswith("on all 20,000 rows")
    best = [state.best[0] for state in seen if state.best is not None]
    assert best
    assert re.fullmatch(
        r"(hinge|squared_hinge|logistic), costs .*, C .*|the stream's learner, 3 passes", str(seen[-1].best[1])
    )


def test_cuts_know_about_how_far_they_are(rows):
    seen = states_of(lambda: sy.StructuralSVM("f1", C=100.0, verbose=1).fit(*rows))
    shares = [sy.StructuralSVM("f1")._said(state)[0] for state in seen]
    assert shares == sorted(shares)
    assert shares[0] < 0.01
    assert shares[-1] == 1.0


def test_work_that_is_done_and_work_to_come(monkeypatch):
    seen, now = [], [0.0]
    monkeypatch.setattr("steelyard.solvers.search.work.time.perf_counter", lambda: now[0])
    work = Work(seen.append, after=10.0)
    work.expect(30.0)
    now[0] = 1.0
    work.did(10.0, "a", (0.5, "model"))
    assert seen[-1] == State(0.25, "a", (0.5, "model"))
    work.expect(0.0)  # the others were dropped
    work.did(0.0, "b")
    assert seen[-1] == State(0.5, "b", (0.5, "model"))
    work.expect(-10.0)
    work.part(0.0, "c")
    now[0] = 3.0
    work.part(0.5, "c")  # two seconds for a half of it, after one
    assert seen[-1].share == pytest.approx(3.0 / 5.0)
    assert seen[-1].told() == (seen[-1].share, "c; best so far 0.5000, model")


def test_several_labels_a_row(capsys):
    X, Y = make_multilabel_classification(300, n_classes=3, random_state=0)
    sy.ThresholdClassifier(OneVsRestClassifier(LogisticRegression()), m.macro(m.FBeta(1)), cv=3, verbose=1).fit(X, Y)
    assert "4 of 4: OneVsRestClassifier on all rows" in capsys.readouterr().err
