"""Models in files: what comes back answers alike and goes on alike, and loading runs nothing."""

import importlib.util
import io
import json
import os
import subprocess
import sys
import textwrap
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

import steelyard as sy
import steelyard.measures as m
from faults import FULL, saved_models
from faults.saved_models import X, Y, answers, goes_on, make
from measures.zoo import EVERYTHING
from steelyard.files.expressions import expression_from_list, expression_to_list
from steelyard.files.layout import pack, unpack
from steelyard.rows import Rows
from steelyard.saving import _by_type
from steelyard.solvers.path import approximate, exact
from steelyard.solvers.path.joined import JoinedPath

NEEDS_SKOPS = pytest.mark.skipif(importlib.util.find_spec("skops") is None, reason="skops is not installed")
NAMES = [*saved_models.PLAIN, *(pytest.param(name, marks=NEEDS_SKOPS) for name in saved_models.SKOPS)]
BY_BLAS = {"path rbf", "path poly", "path precomputed", "quantile model", "cost classifier rbf", "np", "np generative",
           "q-value rbf"}  # where an array lies in memory may change the last bit of a product there  # fmt: skip


def again(model, folder, **options):
    sy.save(model, folder / "model.sy")
    return sy.load(folder / "model.sy", **options)


def assert_same(ours, theirs, exact=True):
    assert ours.keys() == theirs.keys()
    for name, value in ours.items():
        if exact or value.dtype.kind not in "f":
            np.testing.assert_array_equal(value, theirs[name], err_msg=name)
        else:
            np.testing.assert_allclose(theirs[name], value, rtol=1e-10, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("name", NAMES)
def test_what_comes_back_answers_alike(name, tmp_path):
    model = make(name)
    back = again(model, tmp_path)
    assert type(back) is type(model)
    assert repr(back) == repr(model)
    assert vars(back).keys() == vars(model).keys()
    assert_same(answers(model), answers(back), exact=name not in BY_BLAS)
    assert os.listdir(tmp_path) == ["model.sy"]


@pytest.mark.parametrize("name", ["online", "online cap", "online letter", "mini-batch", "stream quantifier"])
def test_learning_goes_on_with_the_same_bits(name, tmp_path):
    model = make(name)
    back = again(model, tmp_path)
    assert_same(answers(goes_on(model)), answers(goes_on(back)))


def test_every_public_estimator_is_described():
    public = {getattr(sy, name) for name in sy.__all__ if name[0].isupper()}
    missing = {one.__name__ for one in public if hasattr(one, "get_params")} - {kind.__name__ for kind in _by_type()}
    assert missing == set()


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for kind in _by_type()
        if kind.__module__.startswith("steelyard") and hasattr(kind, "get_params") and not hasattr(kind, "transform")
    ],
)
def test_what_is_not_fitted_comes_back_so(kind, tmp_path):
    back = again(kind(), tmp_path)
    assert type(back) is kind
    assert repr(back) == repr(kind())
    with pytest.raises((NotFittedError, AttributeError)) as raised:
        back.predict(X) if hasattr(back, "predict") else back.update(X)
    assert isinstance(raised.value, NotFittedError)


def test_parameters_of_all_kinds_come_back(tmp_path):
    splits = [(np.arange(80), np.arange(80, 160)), (np.arange(80, 160), np.arange(80))]
    model = sy.MeasureClassifier(
        m.FBeta(np.float64(0.5)), subject_to=(m.fpr <= 0.3, m.Precision() >= 0.1), C=[0.1, np.float64(1.0)], cv=splits,
        pos_label=np.str_("no"), random_state=np.random.RandomState(3), n_jobs=np.int64(1),
    )  # fmt: skip
    back = again(model, tmp_path)
    assert (back.measure, back.subject_to) == (model.measure, model.subject_to)
    assert back.C == [0.1, 1.0]
    assert [type(pair) for pair in back.cv] == [tuple, tuple]
    assert back.random_state.randint(10**9) == model.random_state.randint(10**9)
    assert np.array_equal(model.fit(X, Y).coef_, back.fit(X, Y).coef_)


@pytest.mark.parametrize("labels", [[0, 1], [False, True], [-1.0, 1.0], ["a", "b"], np.array(["a", "b"], dtype=object)])
def test_labels_of_all_kinds_come_back(labels, tmp_path):
    y = np.asarray(labels)[(Y == "yes").astype(int)]
    model = sy.StructuralSVM("zero_one", pos_label=np.asarray(labels).tolist()[0]).fit(
        pd.DataFrame(X, columns=list("abcd")), y
    )
    back = again(model, tmp_path)
    assert back.classes_.dtype == model.classes_.dtype
    assert type(back.pos_label_) is type(model.pos_label_)
    assert back.feature_names_in_.tolist() == list("abcd")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = back.predict(pd.DataFrame(X, columns=list("abcd")))
    assert found.tolist() == model.predict(pd.DataFrame(X, columns=list("abcd"))).tolist()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_sparse_and_single_precision_paths(kind, tmp_path):
    some = X.astype(kind) * (np.abs(X) > 1.2)
    model = sy.CostPath().fit(sp.csr_array(some), Y)
    back = again(model, tmp_path)
    assert back._train.source.dtype == kind
    assert back._path.audit() == model._path.audit()
    assert np.array_equal(back.predict_proba(some), model.predict_proba(some))


def test_what_scikit_learn_was_asked_to_route_is_forgotten(tmp_path):
    with config_context(enable_metadata_routing=True):
        model = sy.StructuralSVM("zero_one").set_fit_request(sample_weight=True).fit(X, Y)
        assert_same(answers(model), answers(again(model, tmp_path)))


def test_a_path_that_goes_on_approximately(tmp_path):
    first = exact.trace(Rows.of(X).with_constant(), np.where(Y == "yes", 1.0, -1.0), 1.0, (0.0, 0.4))
    rest = approximate.trace(Rows.of(X).with_constant(), np.where(Y == "yes", 1.0, -1.0), 1.0, (0.4, 1.0))
    model = make("path")
    model._path = JoinedPath(exact.ExactPath(first.problem, first.log, 1.0, first.further), rest)
    back = again(model, tmp_path)
    assert_same(answers(model), answers(back))
    assert str(back._path.status) == str(model._path.status)


@pytest.mark.parametrize("measure", EVERYTHING, ids=repr)
def test_measures_come_back_as_they_were(measure):
    tree = json.loads(json.dumps(expression_to_list(measure)))
    assert expression_from_list(tree) == measure


# -- scikit-learn inside ----------------------------------------------------------------------------------------
def test_without_skops_the_error_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "skops", None)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    with pytest.raises(ImportError, match=r"pip install 'steelyard\[skops\]'"):
        sy.save(sy.ThresholdClassifier(LogisticRegression()), tmp_path / "model.sy")
    assert os.listdir(tmp_path) == []
    with pytest.raises(sy.ModelFileError, match=r"pip install 'steelyard\[skops\]'"):
        sy.load(Path(__file__).parent / "files" / "version_2" / "expected.sy")


class Stump(LogisticRegression):
    """A classifier of a user."""


@NEEDS_SKOPS
def test_types_that_are_not_known_must_be_named(tmp_path):
    steps = [("scale", FunctionTransformer(np.tanh)), ("model", Stump())]
    model = sy.ThresholdClassifier(Pipeline(steps), cv=StratifiedKFold(3)).fit(X, Y)
    sy.save(model, tmp_path / "model.sy")
    with pytest.raises(sy.ModelFileError, match=r"not known to be harmless: .*Stump.*load\(path, trusted=\[") as raised:
        sy.load(tmp_path / "model.sy")
    named = f"{Stump.__module__}.Stump"
    assert f"trusted=['{named}']" in str(raised.value)
    for trusted in ([Stump], [named]):
        assert_same(answers(model), answers(sy.load(tmp_path / "model.sy", trusted=trusted)))
    with pytest.raises(TypeError, match="trusted is a list"):
        sy.load(tmp_path / "model.sy", trusted=True)


@NEEDS_SKOPS
def test_a_prefit_model_is_one_object_again(tmp_path):
    inner = LogisticRegression().fit(X, Y)
    back = again(sy.ThresholdClassifier(inner, cv="prefit").fit(X, Y), tmp_path)
    assert back.estimator_ is back.estimator


THREE = np.array(["u", "v", "w"], dtype=object)[np.digitize(X[:, 0], [-0.5, 0.5])]
TEXTS = [f"word{int(3 * a)} other{int(3 * b)}" for a, b in X[:, :2]]
INSIDE = {
    "three classes": lambda: sy.Quantifier(cv=2).fit(X, THREE),
    "one against the rest": lambda: sy.Quantifier(sy.StructuralSVM("zero_one"), cv=2).fit(X, THREE),
    "prefit": lambda: sy.Quantifier(LogisticRegression().fit(X, Y), cv="prefit").fit(
        X, Y, sample_weight=np.arange(160.0)
    ),
    "frozen": lambda: sy.ThresholdClassifier(FrozenEstimator(LogisticRegression().fit(X, Y))).fit(X, Y),
    "frozen, ours": lambda: sy.ThresholdClassifier(FrozenEstimator(sy.CostPath().fit(X, Y))).fit(X, Y),
}


@NEEDS_SKOPS
@pytest.mark.parametrize("name", INSIDE)
def test_what_may_stand_inside(name, tmp_path):
    model = INSIDE[name]()
    assert_same(answers(model), answers(again(model, tmp_path)))


@NEEDS_SKOPS
def test_a_pipeline_of_texts_and_one_that_keeps_a_cache(tmp_path):
    model = sy.ThresholdClassifier(make_pipeline(TfidfVectorizer(), LogisticRegression())).fit(TEXTS, Y)
    assert again(model, tmp_path).predict(TEXTS).tolist() == model.predict(TEXTS).tolist()
    cached = Pipeline([("model", sy.StructuralSVM())], memory=str(tmp_path))
    with pytest.raises(sy.ModelFileError, match="the steps of a pipeline"):
        sy.save(cached, tmp_path / "model.sy")


def test_a_pipeline_of_ours_needs_no_skops(tmp_path, monkeypatch):
    model = Pipeline([("nothing", "passthrough"), ("model", sy.StructuralSVM("zero_one"))]).fit(X, Y)
    monkeypatch.setitem(sys.modules, "skops.io", None)
    assert again(model, tmp_path).predict(X).tolist() == model.predict(X).tolist()


# -- loading runs nothing ---------------------------------------------------------------------------------------
WATCH = textwrap.dedent("""
    import json, os, sys, steelyard as sy, steelyard.saving
    steelyard.saving._by_name()
    import sklearn.linear_model, sklearn.preprocessing, sklearn.pipeline
    def hook(event, args):
        if watching and event.split(".")[0] in ("import", "exec", "compile", "socket", "subprocess", "os", "ctypes",
                                                  "pickle", "marshal", "shutil", "code", "open", "urllib", "http"):
            seen.append((event, str(args)))
    watching = False
    sys.addaudithook(hook)
    for needs, path in json.loads(sys.argv[1]):
        if needs == "skops":
            import encodings.cp437, skops.io  # zipfile reads the names in an archive by that encoding
        sys.stdout.flush()
        if os.fork() > 0:  # each in a process that has loaded nothing before
            os.wait()
            continue
        seen, refused = [], ""
        watching = True
        try:
            sy.load(path)
        except sy.ModelFileError as error:
            refused = str(error)
        watching = False
        # numpy reads the head of an array by ast.literal_eval, which compiles and does not run it.
        seen = [one for one in seen if not (one[0] == "open" and path in one[1]) and not one[1].startswith("(b\\"{'descr'")]
        print(json.dumps([path, seen, refused]), flush=True)
        os._exit(0)
""")
WATCHED = saved_models.PLAIN if FULL else [*saved_models.PLAIN[:4], "path rbf", "np", "quantifier"]
WITH_SKOPS = saved_models.SKOPS if FULL else ["threshold pipeline"]


def name_foreign_code(file):
    """A file whose model of scikit-learn is said to be of another module, one whose import would open a browser."""
    sy.save(sy.ThresholdClassifier(LogisticRegression()), file)
    sections = {name: bytes(part) for name, part in unpack(file.read_bytes(), "model").items()}
    (where,) = [name for name, part in sections.items() if b"LogisticRegression" in part and name != "tree"]
    archive, wrong = zipfile.ZipFile(io.BytesIO(sections[where])), io.BytesIO()
    with zipfile.ZipFile(wrong, "w") as made:
        for name in archive.namelist():
            made.writestr(name, archive.read(name).replace(b"sklearn.linear_model._logistic", b"antigravity"))
    file.write_bytes(pack("model", {**sections, where: wrong.getvalue()}))


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """By name: what was seen while a file was loaded, and why it was refused. One process imports, for all of them."""
    folder, skops = tmp_path_factory.mktemp("watched"), importlib.util.find_spec("skops") is not None
    names = [*WATCHED, *([*WITH_SKOPS, "foreign"] if skops else [])]
    for name in names:
        if name == "foreign":
            name_foreign_code(folder / name)
        else:
            sy.save(make(name), folder / name)
    asked = [("" if name in WATCHED else "skops", str(folder / name)) for name in names]
    ended = subprocess.run([sys.executable, "-c", WATCH, json.dumps(asked)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
    found = map(json.loads, ended.stdout.splitlines())
    return {Path(path).name: (seen, refused) for path, seen, refused in found}


@pytest.mark.parametrize("name", [*WATCHED, *(pytest.param(name, marks=NEEDS_SKOPS) for name in WITH_SKOPS)])
def test_loading_imports_nothing_runs_nothing_and_opens_no_socket(name, loaded):
    assert loaded[name] == ([], "")


@NEEDS_SKOPS
def test_a_file_that_names_foreign_code_does_not_run_it(loaded):
    seen, refused = loaded["foreign"]
    assert "antigravity.LogisticRegression" in refused
    assert seen == []
