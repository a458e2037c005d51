"""Text to measures: what is printed is read back, mistakes are shown, and no text runs, crashes or hangs."""

import os
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard.measures as m
from steelyard.measures.given import BY_NAME, measure_of
from steelyard.measures.labels import is_symmetric
from steelyard.measures.parsing import (
    FUNCTIONS,
    RATES,
    MeasureSyntaxError,
    named_measures,
    parse_constraints,
    parse_measure,
)


@pytest.mark.parametrize("kind", [*m.NAMED, *m.SEVERAL], ids=lambda kind: kind.__name__)
def test_named_measures_are_read_as_they_print(kind):
    assert parse_measure(repr(kind())) == kind()
    assert parse_measure(kind.__name__) == kind()


numbers = st.floats(0.01, 10).map(lambda x: round(x, 3))
leaves = st.sampled_from(
    [m.tpr, m.tnr, m.FBeta(2), m.NegKLD(), m.BalancedAccuracy(), m.Precision(), m.macro(m.FBeta(1))]
)


def grown(parts):
    two = st.tuples(parts, parts)
    return st.one_of(
        two.map(lambda ab: ab[0] + ab[1]),
        two.map(lambda ab: ab[0] - ab[1]),
        two.map(lambda ab: m.minimum(*ab)),
        st.tuples(numbers, parts).map(lambda xa: xa[0] * xa[1]),
        st.tuples(parts, numbers).map(lambda ax: ax[0] / ax[1]),
        parts.map(lambda a: -a),
    )


@given(st.recursive(leaves, grown, max_leaves=6))
@settings(max_examples=100, deadline=None)
def test_expressions_are_read_as_they_print(measure):
    assert repr(parse_measure(repr(measure))) == repr(measure)


def test_constraints():
    assert parse_constraints("fpr <= 0.01") == (m.fpr <= 0.01,)
    assert parse_constraints("0.9 <= Precision, tpr >= 2*tnr - 1") == (m.Precision() >= 0.9, m.tpr >= 2 * m.tnr - 1)
    assert parse_constraints("within('a', fpr) <= 0.1") == (m.within("a", m.fpr) <= 0.1,)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("FBeta(1", "expected , or )"),
        ("Fbeta(1)", "no measure 'Fbeta'"),
        ("FBeta(beta=-1)", "beta must lie"),
        ("tpr +", "ends too early"),
        ("9**9**9**9", "9"),
        ("1 + 2", "varies with tpr and tnr"),
        ("tpr <= 0.1", "did not expect"),
        ("(" * 500, "brackets deep"),
        ("tpr" + " + tpr" * 250, "parts"),
        ("t" * 5000, "characters"),
        ("tpr.__class__", "cannot read"),
        ("__import__('os').getcwd()", "cannot read"),
        ("__import__('os')", "no measure '__import__'"),
        ("", "ends too early"),
    ],
)
def test_mistakes_are_shown(text, said):
    with pytest.raises(MeasureSyntaxError) as caught:
        parse_measure(text)
    assert said in str(caught.value)


def test_a_constraint_needs_a_comparison():
    with pytest.raises(MeasureSyntaxError, match="<= or >="):
        parse_constraints("fpr < 0.01")
    with pytest.raises(MeasureSyntaxError):
        parse_constraints("0.1 <= 0.2")


pieces = st.sampled_from(
    [*RATES, *FUNCTIONS, *named_measures(), "(", ")", "(", ")", ",", "+", "-", "*", "/", "**", "<=", ">=", "=", "<",
     "1", "0", "1e308", "1e-308", "0.5", "'a'", "True", "beta", "__import__", "os.system", ".", "[", "lambda", " ", "é"]
)  # fmt: skip


@given(
    st.one_of(
        st.text(max_size=60), st.lists(pieces, max_size=25).map("".join), st.lists(pieces, max_size=25).map(" ".join)
    )
)
@settings(max_examples=600, deadline=None)
def test_no_text_crashes_or_hangs(text):
    for read in (parse_measure, parse_constraints):
        start = time.perf_counter()
        try:
            found = read(text)
        except MeasureSyntaxError:
            found = None
        assert time.perf_counter() - start < 2.0
        assert found is None or isinstance(found, (m.Measure, tuple))


def test_nothing_is_run(tmp_path, monkeypatch):
    """Text of Python that would leave a file, in every place where an expression may stand."""
    monkeypatch.chdir(tmp_path)
    attack = "open('left', 'w')"
    for text in (
        attack,
        f"FBeta({attack})",
        f"{attack} <= 1",
        f"tpr + {attack}",
        f"of({attack}, tpr)",
        f"FBeta(beta={attack})",
    ):
        for read in (parse_measure, parse_constraints):
            with pytest.raises(MeasureSyntaxError):
                read(text)
    assert os.listdir(tmp_path) == []


def test_names_and_functions():
    assert measure_of("f1") == m.FBeta(1)
    assert measure_of(lambda tpr, tnr: 0.5 * tpr + 0.5 * tnr)(0.4, 0.6) == 0.5
    assert measure_of(lambda tpr, tnr, prevalence: prevalence * tpr)(0.5, 0.1, 0.5) == 0.25
    assert all(isinstance(measure_of(name), m.Measure) for name in BY_NAME)
    for bad, said in ((lambda tpr, tnr: 1.0, "vary"), (lambda tpr, tnr: max(tpr, tnr), "followed"), (3, "'f1'")):
        with pytest.raises(TypeError, match=said):
            measure_of(bad)
    with pytest.raises(TypeError, match=r"FBeta\(\)"):
        measure_of(m.FBeta)


def test_names_score_as_scikit_learn_does():
    import numpy as np
    from sklearn.metrics import get_scorer

    rng = np.random.default_rng(0)
    y, called = rng.integers(0, 2, 200), rng.integers(0, 2, 200)

    for name in (
        "accuracy",
        "balanced_accuracy",
        "f1",
        "precision",
        "recall",
        "jaccard",
        "matthews_corrcoef",
        "f1_macro",
    ):
        scorer = get_scorer(name)
        assert measure_of(name).score(y, called) == pytest.approx(scorer._score_func(y, called, **scorer._kwargs))


def test_symmetry():
    symmetric = {"Accuracy", "BalancedAccuracy", "GMean", "HMean", "QMean", "MinRate", "MCC"}
    assert symmetric <= {kind.__name__ for kind in m.NAMED if is_symmetric(kind())}
    assert not any(is_symmetric(kind()) for kind in (m.FBeta, m.Recall, m.Precision, m.Jaccard))
