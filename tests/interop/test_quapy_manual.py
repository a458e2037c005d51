"""QuaPy's own manual and examples, run from its source with only lines of import changed.

Nothing of QuaPy is copied here: set QUAPY_SOURCE to a checkout of its repository (its wheel has neither manual nor
examples), and each script or block of the manual is read from there, the import lines named below are replaced, and the
rest runs to the letter. The examples fetch their data from the network; `qp.datasets.fetch_*` is replaced by data made
here. The README's example needs no checkout: it is in the metadata of the installed package.
"""

import importlib.metadata
import os
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification

qp = pytest.importorskip("quapy", reason="the extra 'quapy' is not installed")
from quapy.data import Dataset, LabelledCollection  # noqa: E402

import steelyard as sy  # noqa: E402
import steelyard.measures as m  # noqa: E402

MANUAL, EXAMPLES = "docs/source/manuals", "examples"
REGRESSION = "from sklearn.linear_model import LogisticRegression"
MACHINE = "from sklearn.svm import LinearSVC"


def numbers(classes):
    X, y = make_classification(1200, 10, n_informative=6, n_classes=classes, class_sep=1.5, random_state=0)
    return Dataset(LabelledCollection(X[:600], y[:600]), LabelledCollection(X[600:], y[600:]))


def texts():
    """Two kinds of texts, some words commoner in one of them."""
    rng, words = np.random.default_rng(0), np.array([f"word{k}" for k in range(200)])
    y = rng.integers(0, 2, 600)
    share = np.stack([np.r_[np.ones(40) * (1 + 3 * k), np.ones(160)] for k in (0, 1)])
    share /= share.sum(axis=1, keepdims=True)
    X = np.array([" ".join(rng.choice(words, 30, p=share[k])) for k in y])
    return Dataset(LabelledCollection(X[:300], y[:300]), LabelledCollection(X[300:], y[300:]))


@pytest.fixture(autouse=True)
def _local(monkeypatch):
    """Local data for what is fetched, and QuaPy's global settings as they were afterwards."""
    two, three = numbers(2), numbers(3)
    as_text = lambda *_, tfidf=False, **__: two if tfidf else texts()
    monkeypatch.setattr(qp.datasets, "fetch_reviews", as_text)
    for name in ("fetch_UCIBinaryDataset", "fetch_UCIMulticlassDataset"):
        monkeypatch.setattr(qp.datasets, name, lambda *_, **__: two)
    monkeypatch.setattr(qp.datasets, "fetch_twitter", lambda *_, **__: three)
    for key, value in list(qp.environ.items()):
        monkeypatch.setitem(qp.environ, key, value)


def source(path):
    root = os.environ.get("QUAPY_SOURCE")
    if not root:
        pytest.skip("set QUAPY_SOURCE to a checkout of QuaPy, whose manual and examples are not in its wheel")
    return (Path(root) / path).read_text()


def blocks(text):
    """The Python blocks of a Markdown page."""
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def block(page, *, having):
    found = [code for code in blocks(source(f"{MANUAL}/{page}")) if having in code]
    assert len(found) == 1
    return found[0]


def run(code, imports, known=None):
    """Run it with import lines exchanged; what it defined."""
    for theirs, ours in imports.items():
        assert code.count(theirs + "\n") == 1, f"no single line {theirs!r}"
        code = code.replace(theirs + "\n", ours + "\n")
    names = {"__name__": "example"} if known is None else known
    exec(compile(code, "quapy's example", "exec"), names)
    return names


def near(estimate, truth):
    return np.abs(np.asarray(estimate) - truth.prevalence()).max() < 0.1


@pytest.mark.parametrize("ours", ["StructuralSVM", "MeasureClassifier", "OnlineClassifier"])
def test_classify_and_count_then_adjusted_and_probabilistic(ours, monkeypatch):
    """methods.md: CC of an SVM, the same as ACC, and PCC, which calibrates."""
    monkeypatch.setattr(qp.datasets, "fetch_twitter", lambda *_, **__: numbers(2))
    names = run(
        block("methods.md", having="aggregative.CC(svm)"), {MACHINE: f"from steelyard import {ours} as LinearSVC"}
    )
    assert near(names["estim_prevalence"], names["test"])
    # The next two blocks go on from this one, each with a new svm, as QuaPy refuses one that is fitted.
    names["svm"], names["Xte"] = names["LinearSVC"](), names["test"].X
    run(block("methods.md", having="aggregative.ACC(svm)"), {}, names)
    assert near(names["model"].fit(names["Xtr"], names["ytr"]).predict(names["Xte"]), names["test"])
    names["svm"] = names["LinearSVC"]()
    run(block("methods.md", having="aggregative.PCC(svm)"), {}, names)
    assert near(names["estim_prevalence"], names["test"])


@pytest.mark.parametrize("ours", ["from steelyard import CostPath", "from steelyard.interop.quapy import SVMperf"])
def test_expectation_maximisation(ours, monkeypatch):
    """methods.md: EMQ."""
    monkeypatch.setattr(qp.datasets, "fetch_twitter", lambda *_, **__: numbers(2))
    names = run(block("methods.md", having="aggregative.EMQ("), {REGRESSION: f"{ours} as LogisticRegression"})
    assert near(names["estim_prevalence"], names["test"])


def test_explicit_loss_minimisation():
    """The example: one against all of three classes, a grid over losses and C, judged by UPP, fitted again."""
    names = run(
        source(f"{EXAMPLES}/17.explicit_loss_minimization.py"),
        {"from quapy.method.aggregative import newELM": "from steelyard.interop.quapy import newELM"},
    )
    assert names["mae"] < 0.15
    assert names["model_selection"].best_params_["binary_quantifier__classifier__loss"] in ("q", "kld", "mae")


def test_grid_search_on_a_protocol():
    """protocols.md: ACC, a grid over C by APP, evaluated by APP."""
    names = run(
        block("protocols.md", having="GridSearchQ("),
        {REGRESSION: "from steelyard.interop.quapy import SVMperf as LogisticRegression"},
    )
    assert names["mae"] < 0.1


def test_model_selection():
    """model-selection.md: a grid over C and the bins of a distribution matching."""
    names = run(
        block("model-selection.md", having="GridSearchQ("),
        {REGRESSION: "from steelyard import CostPath as LogisticRegression"},
    )
    assert names["mae_score"] < 0.1


def test_basics():
    """The first example: PACC on tf-idf of texts, evaluated by APP."""
    names = run(
        source(f"{EXAMPLES}/0.basics.py"), {REGRESSION: "from steelyard import MeasureClassifier as LogisticRegression"}
    )
    assert np.mean(names["absolute_errors"]) < 0.15


def test_ensemble():
    """methods.md: thirty ACC on samples of other prevalences."""
    names = run(
        block("methods.md", having="Ensemble(quantifier=ACC("),
        {REGRESSION: "from steelyard import StructuralSVM as LogisticRegression"},
    )
    assert near(names["estim_prevalence"], names["test"])


def test_blocks_that_quapy_itself_no_longer_runs():
    """methods.md: ``SVMQ``, an import that is not there, and ``fit`` with one argument, from before version 0.1.9."""
    code = block("methods.md", having="newOneVsAll(SVMQ()")
    theirs, ours = "from quapy.method.aggregative import SVMQ", "from steelyard.interop.quapy import newSVMQ as SVMQ"
    with pytest.raises(ImportError, match="SVMQ"):
        run(code, {})
    with pytest.raises(NameError, match="newOneVsAll"):
        run(code, {theirs: ours})
    with pytest.raises(TypeError, match="fit"):
        run(code, {theirs: ours + "\nfrom quapy.method.base import newOneVsAll"})


def test_readme():
    """The README names no classifier; ours is made QuaPy's default."""
    (code,) = blocks(importlib.metadata.metadata("quapy").get_payload())
    qp.environ["DEFAULT_CLS"] = sy.MeasureClassifier(m.BAKLD(0.5), random_state=0)
    names = run(code, {})
    assert isinstance(names["model"].classifier, sy.MeasureClassifier)
    assert names["error"] < 0.1
