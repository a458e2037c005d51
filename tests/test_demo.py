"""The demo: three tables that say what was counted, and a picture that is well-formed SVG without colliding labels."""

import xml.etree.ElementTree as ET

import numpy as np
import pytest

from steelyard import cli, demo, svg
from steelyard.measures.labels import Rates


@pytest.fixture(scope="module")
def outcomes():
    return list(demo.limits(splits=2))


def made(limit, rule, *rates):
    """Outcomes with given (TPR, TNR); None is a refusal."""
    return [demo.Outcome(limit, rule, k, at and Rates(*at, 0.1, 900)) for k, at in enumerate(rates)]


def test_every_rule_is_tried_on_every_split(outcomes):
    assert len(outcomes) == 2 * 2 * 4
    for limit in (demo.CAP, demo.FLOOR):
        assert {one.rule for one in outcomes if one.limit is limit} == set(demo.COLOURS)
    for one in outcomes:
        if one.rule == demo.AT_HALF:
            assert one.at.tpr > 0.5


def test_limits_by_hand():
    """Of three, one breaks a cap of 1 %; of two that were not refused, one breaks a floor of 80 %."""
    right, wrong = (0.8, 0.995), (0.6, 0.97)
    found = [one for rule in demo.COLOURS for one in made(demo.CAP, rule, right, right, wrong)]
    found += [one for rule in demo.COLOURS for one in made(demo.FLOOR, rule, right, None, wrong)]
    lines = demo.limits_table(found).splitlines()
    assert lines[2].split()[3:6] == ["1", "of", "3"]
    assert "1.3 %" in lines[2]  # the mean of 0.5, 0.5 and 3 %
    assert "73 %" in lines[2]
    assert "1 of 2 (1 refused)" in lines[-1]


def test_batches_by_hand():
    counted = [demo.Batch(0.1, 0.2, 0.1, 0.05, 0.15), demo.Batch(0.1, 0.1, 0.2, 0.15, 0.25)]
    _, _, row, off = demo.batches_table(counted).splitlines()
    assert row.split() == ["10", "%", "15.0", "%", "15.0", "%", "1", "of", "2"]
    assert off.split()[-4:] == ["5.0", "%", "5.0", "%"]


def test_counting_survives_a_shift():
    counted = list(demo.batches(splits=1))
    assert [one.share for one in counted] == list(demo.SHARES)
    off = [np.mean([abs(getattr(one, name) - one.share) for one in counted]) for name in ("counted", "estimate")]
    assert off[1] < off[0]


def test_the_picture_has_a_point_a_rule_and_a_dot_a_split(outcomes):
    root = ET.fromstring(demo.picture(outcomes, demo.mean_frontier(splits=1)))
    assert root.tag.endswith("svg")
    circles = [float(e.get("r")) for e in root.iter() if e.tag.endswith("circle")]
    at_cap = [one for one in outcomes if one.limit is demo.CAP and one.at is not None]
    assert circles.count(2.6) == len(at_cap)
    assert circles.count(6.5) == len(demo.COLOURS)


def test_labels_do_not_collide_and_ticks_are_round():
    canvas = svg.Canvas(820, 560, x=(0.0, 0.08), y=(0.2, 1.0))
    canvas.line([(0.0, 0.5), (0.08, 0.9)], "black")
    for x, y in ((0.02, 0.5), (0.021, 0.5), (0.022, 0.51), (0.079, 0.9)):
        canvas.point(x, y, "black", "a label of some length")
    boxes = canvas.taken[1::2]
    meet = [
        (a, b)
        for k, a in enumerate(boxes)
        for b in boxes[:k]
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]
    assert not meet
    assert all(box[2] <= 820 for box in boxes)
    assert [round(at, 3) for at in svg.ticks(0.0, 0.08)] == [0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08]


def test_command_line(monkeypatch, capsys, tmp_path, outcomes):
    class Found:
        best_name_, standings_ = "", ()

    monkeypatch.setattr(demo, "compared", Found)
    monkeypatch.setattr(demo, "limits", lambda: iter(outcomes))
    monkeypatch.setattr(demo, "batches", lambda: iter([demo.Batch(0.1, 0.2, 0.1, 0.05, 0.15)]))
    monkeypatch.setattr(demo, "mean_frontier", lambda: [(0.0, 0.5), (0.08, 0.9)])
    assert cli.main(["demo", "--svg", str(tmp_path / "a.svg")]) == 0
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    assert cli.main(["demo", "--svg", str(tmp_path / "no" / "such" / "a.svg")]) == 1
    assert "could not be written" in capsys.readouterr().out
