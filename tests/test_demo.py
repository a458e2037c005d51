"""The demo: a table with every goal and contender, and a picture that is well-formed SVG."""

import xml.etree.ElementTree as ET

import pytest

from steelyard import cli, demo


@pytest.fixture(scope="module")
def outcomes():
    return list(demo.run(splits=1))


def test_table_has_a_row_a_goal_and_a_column_a_contender(outcomes):
    head, _, *rows = demo.table(outcomes).splitlines()
    assert all(name in head for name in demo.CONTENDERS)
    assert [row.startswith(goal.name) for row, goal in zip(rows, demo.GOALS, strict=True)] == [True] * len(demo.GOALS)


def test_leads_come_with_their_standard_error():
    """Two splits by hand: leads of 0.1 and 0.3 over one rival, so 0.2 with a standard error of 0.1."""
    goal = demo.GOALS[0]
    values = {"logistic regression": (0.5, 0.5), "its threshold tuned": (0.6, 0.8), "steelyard": (0.6, 0.8)}
    made = [
        demo.Outcome(one, name, split, 0.0, 0.0, value if one is goal else 0.0, float("nan"))
        for one in demo.GOALS
        for name, pair in values.items()
        for split, value in enumerate(pair)
    ]
    _, plain, tuned = demo.leads(made).splitlines()
    assert "F1 +0.200 +- 0.100" in plain
    assert "F1 +0.000 +- 0.000" in tuned


def test_picture_is_svg_with_all_points(outcomes):
    root = ET.fromstring(demo.picture(outcomes))
    assert root.tag.endswith("svg")
    places = {(o.contender, o.tpr, o.tnr) for o in outcomes}
    circles = [e for e in root.iter() if e.tag.endswith("circle")]
    assert len(circles) == len(places) + len(demo.CONTENDERS)  # and one each in the legend


def test_command_line(monkeypatch, capsys, tmp_path, outcomes):
    monkeypatch.setattr(demo, "run", lambda: iter(outcomes))
    assert cli.main(["demo", "--svg", str(tmp_path / "a.svg")]) == 0
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    assert cli.main(["demo", "--svg", str(tmp_path / "no" / "such" / "a.svg")]) == 1
    assert "could not be written" in capsys.readouterr().out
