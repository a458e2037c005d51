"""Fitted classifiers as ONNX graphs (extra `onnx`): predict where there is no Python, with the same labels.

Given a fitted classifier, or a pipeline that ends in one, and some rows of the kind it takes, `to_onnx` returns a graph
with the outputs ``label`` (as `predict` has it) and ``scores`` (as `decision_function` has them). What stands before
our classifier or inside it (scalers, encoders, a scikit-learn model whose threshold was set) is converted by skl2onnx;
what is ours is written here, in a few nodes:

    linear       scores = X coef' + intercept                         label by sign, of several classes by the largest
                 (of q-values, of columns that level off)
    kernel       scores = k(X, vectors) coef' + bias - threshold
    threshold    score of the model > best_threshold_;  log-probabilities + offsets_, the largest

The graph computes in double precision, as steelyard does: a probability rounded to single precision lies on the other
side of a threshold now and then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from sklearn.utils.validation import check_is_fitted

from ..estimators._linear import LinearMixin
from ..estimators._offsets import LEAST
from ..estimators._scored_rows import resolve_response
from ..estimators.cost_path import CostClassifier, CostPath
from ..estimators.expected_fbeta import ExpectedFBetaClassifier
from ..estimators.neyman_pearson import NeymanPearsonClassifier
from ..estimators.q_value import QValueClassifier
from ..estimators.quantile_path import QuantilePath
from ..estimators.threshold import ThresholdClassifier
from ..solvers.kernel.expansion import KernelExpansion

try:
    import onnx
    import skl2onnx
    from onnx import TensorProto, helper, numpy_helper
    from skl2onnx.sklapi import CastTransformer
except ImportError as error:
    raise ImportError(f'{error}. The export needs the extra onnx: pip install "steelyard[onnx]"') from error

OPSET = 18  # onnxruntime 1.14 (2023) and newer run it, and ReduceSumSquare takes its axes as an input from here on
IR = 8  # the file format that goes with it
OPSET_ML = 3  # the operators of skl2onnx's trees in double precision
DOUBLE = TensorProto.DOUBLE
# They round rows to single precision and compare them with splits in double: so must their graphs.
ROUNDS = (
    RandomForestClassifier, ExtraTreesClassifier, GradientBoostingClassifier, DecisionTreeClassifier,
    ExtraTreeClassifier,
)  # fmt: skip


class NotExportableError(TypeError):
    """This model has no graph, and the message says why and what to do."""


def to_onnx(model: Any, X: Any) -> Any:
    """The graph of a fitted classifier: feed it rows like X, and ``label`` is what `predict` says of them.

    Parameters
    ----------
    model : fitted classifier, pipeline or search
        `OnlineClassifier`, `MeasureClassifier`, `StructuralSVM`, `CostClassifier` (from `CostPath.at`) and
        `QValueClassifier` with linear models, `NeymanPearsonClassifier` with any kernel, `ThresholdClassifier` around a
        model that skl2onnx or this function converts; a `Pipeline` that ends in one, and a fitted grid search.
    X : array or data frame
        Some rows, one is enough. An array gives the graph one input ``X`` of its type, float32 or float64; a frame an
        input for each column, as skl2onnx has it.

    Returns
    -------
    onnx.ModelProto
        With the outputs ``label`` and ``scores``. ``.SerializeToString()`` is what onnxruntime reads.

    Raises
    ------
    NotExportableError
        For what depends on more than a row (a batch, its group), or has no graph of its own.

    Examples
    --------
    >>> import onnxruntime
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from steelyard import ThresholdClassifier
    >>> from steelyard.interop.onnx import to_onnx
    >>> X, y = make_classification(1000, weights=[0.9], random_state=0)
    >>> clf = ThresholdClassifier(LogisticRegression()).fit(X, y)
    >>> graph = onnxruntime.InferenceSession(to_onnx(clf, X).SerializeToString())
    >>> label, scores = graph.run(None, {"X": X})
    >>> int((label != clf.predict(X)).sum())
    0
    """
    check_is_fitted(model)
    is_frame = hasattr(X, "columns")
    rows = X[:1] if is_frame else np.asarray(X[:1])
    graph, scores = _decision((), model, rows)
    made = graph.classifier(_last(model), scores)
    if not is_frame:
        _take(made, rows.dtype)
    onnx.checker.check_model(made)
    return made


# -- what a model is made of: `steps` come before it, `rows` are what the first of them takes -----------------------

Steps = tuple[Any, ...]


def _decision(steps: Steps, model: Any, rows: Any) -> tuple[_Graph, str]:
    """The decision function: one column for two classes, else one for each."""
    model = _unwrapped(model)
    if isinstance(model, Pipeline):
        return _decision((*steps, *model.steps[:-1]), model.steps[-1][1], rows)
    if isinstance(model, ThresholdClassifier):
        return _threshold(steps, model, rows)
    _refuse(model)
    graph, x = _features(steps, rows)
    return graph, _kernel(graph, model, x) if _expansion(model) is not None else _linear(graph, model, x)


def _unwrapped(model: Any) -> Any:
    while isinstance(model, FrozenEstimator) or hasattr(model, "best_estimator_"):
        model = model.estimator if isinstance(model, FrozenEstimator) else model.best_estimator_
    return model


def _last(model: Any) -> Any:
    model = _unwrapped(model)
    return _last(model.steps[-1][1]) if isinstance(model, Pipeline) else model


def _refuse(model: Any) -> None:
    """Raise unless the model is linear or a sum of kernel values."""
    why, module = None, type(model).__module__
    if isinstance(model, (CostPath, QuantilePath)):
        why = "it is a whole path of models. Export one of them: path.at(tau), path.best(measure, X, y)"
    elif isinstance(model, ExpectedFBetaClassifier):
        why = "it decides over a batch of rows together. Export a ThresholdClassifier around its model"
    elif isinstance(model, (CostClassifier, QValueClassifier)) and not hasattr(model, "coef_"):
        why = "its kernel features have no graph. Train with kernel='linear'"
    elif module.startswith("steelyard.neural"):
        why = "torch.onnx exports its networks"
    elif not isinstance(model, (LinearMixin, CostClassifier, QValueClassifier, NeymanPearsonClassifier)):
        why = "steelyard's linear, kernel and threshold classifiers have one"
        if not module.startswith("steelyard"):
            why += " here, and skl2onnx.to_onnx converts models of scikit-learn"
    if why is not None:
        raise NotExportableError(f"{type(model).__name__} has no ONNX graph: {why}")


def _features(steps: Steps, rows: Any) -> tuple[_Graph, str]:
    """The columns that a model sees: those of the rows, or what the steps before it make of them."""
    steps = tuple((name, step) for name, step in steps if step is not None and step != "passthrough")
    if steps:
        return _Graph.converted(Pipeline(list(steps)), rows, {}, output=0)
    if hasattr(rows, "columns"):
        rows = np.asarray(rows, dtype=np.float64)
    graph = _Graph()
    graph.inputs.append(helper.make_tensor_value_info("X", DOUBLE, [None, rows.shape[1]]))
    return graph, "X"


def _linear(graph: _Graph, model: Any, x: str) -> str:
    """``X coef' + intercept``."""
    if isinstance(model, NeymanPearsonClassifier):
        coef = model._sign * model._score.w.reshape(1, -1)  # a precomputed kernel has no coef_
    else:
        coef = np.asarray(model.coef_, dtype=np.float64)
    if isinstance(model, QValueClassifier) and hasattr(model, "bounds_"):  # c + b tanh((x - c) / b)
        centre, reach = model.bounds_
        away = graph.add("Tanh", graph.add("Div", graph.add("Sub", x, centre.copy()), reach.copy()))
        x = graph.add("Add", graph.add("Mul", away, reach.copy()), centre.copy())
    products = graph.add("MatMul", x, np.ascontiguousarray(coef.T))
    return graph.add("Add", products, np.asarray(model.intercept_, dtype=np.float64))


def _expansion(model: Any) -> KernelExpansion | None:
    score = getattr(model, "_score", None) if isinstance(model, NeymanPearsonClassifier) else None
    return score if isinstance(score, KernelExpansion) else None


def _kernel(graph: _Graph, model: Any, x: str) -> str:
    """``k(X, vectors) coef' + intercept``, with the kernel as `solvers.kernel.expansion` computes it."""
    found = _expansion(model)
    assert found is not None
    vectors, function = _dense(found.vectors), found.function
    values = graph.add("MatMul", x, np.ascontiguousarray(vectors.T))
    if function.name == "rbf":  # exp(-gamma max(|a|^2 + |b|^2 - 2 a.b, 0))
        squares = graph.add("ReduceSumSquare", x, np.array([1]), keepdims=1)
        values = graph.add("Add", graph.add("Mul", values, np.array(-2.0)), squares)
        values = graph.add("Add", values, np.einsum("ij,ij->i", vectors, vectors))
        values = graph.add("Exp", graph.add("Mul", graph.add("Max", values, np.array(0.0)), np.array(-function.gamma)))
    else:
        values = graph.add("Add", graph.add("Mul", values, np.array(function.gamma)), np.array(function.coef0))
        values = graph.add("Pow", values, np.array(float(function.degree)))
    coef = model._sign * found.coef.reshape(-1, 1)
    return graph.add("Add", graph.add("MatMul", values, coef), np.asarray(model.intercept_, dtype=np.float64))


def _dense(X: Any) -> Any:
    return np.asarray(X.todense() if hasattr(X, "todense") else X, dtype=np.float64)


# -- a threshold, or offsets, on what another model says ------------------------------------------------------------


def _threshold(steps: Steps, model: ThresholdClassifier, rows: Any) -> tuple[_Graph, str]:
    why = None
    if hasattr(model, "groups_"):
        why = "it has a threshold for each group, and a graph is not told the group of a row"
    elif hasattr(model, "label_thresholds_"):
        why = "it gives a row several labels"
    elif np.asarray(model.estimator_.classes_).tolist() != model.classes_.tolist():
        why = "its model knows other classes than y had"
    if why is not None:
        raise NotExportableError(f"this ThresholdClassifier has no ONNX graph: {why}")
    method = resolve_response(model.estimator_, model.response_method)
    graph, said, width = _said(steps, model.estimator_, rows, method)
    if not hasattr(model, "offsets_"):
        if width > 1:
            said = graph.add("Gather", said, np.array([model.classes_.tolist().index(model._positive)]), axis=1)
        elif model._sign < 0:
            said = graph.add("Neg", said)
        over = graph.add("Sub", said, np.array([model.best_threshold_]))
        return graph, graph.add("Neg", over) if model._sign < 0 else over
    if width == 1:
        said = graph.add("Concat", graph.add("Sub", said, said), said, axis=1)
    if method == "predict_proba":
        said = graph.add("Log", graph.add("Max", said, np.array(LEAST)))
    said = graph.add("Add", said, np.asarray(model.offsets_, dtype=np.float64))
    if len(model.classes_) == 2:
        first, second = (graph.add("Gather", said, np.array([k]), axis=1) for k in (0, 1))
        said = graph.add("Sub", second, first)
    return graph, said


def _said(steps: Steps, model: Any, rows: Any, method: str) -> tuple[_Graph, str, int]:
    """What `method` of a model says of the rows, and in how many columns: one only for scores of two classes."""
    model = _unwrapped(model)
    if isinstance(model, Pipeline):
        return _said((*steps, *model.steps[:-1]), model.steps[-1][1], rows, method)
    two = len(model.classes_) == 2
    if type(model).__module__.startswith("steelyard"):
        if method == "predict_proba":
            raise NotExportableError(
                f"the probabilities of {type(model).__name__} have no ONNX graph. Set the threshold on its "
                "scores: ThresholdClassifier(..., response_method='decision_function')"
            )
        graph, said = _decision(steps, model, rows)
        return graph, said, 1 if two else len(model.classes_)
    if isinstance(model, HistGradientBoostingClassifier) and getattr(rows, "dtype", None) != np.float32:
        raise NotExportableError(
            "HistGradientBoostingClassifier compares in double precision and its ONNX graph in single: rows between "
            "the two would get other labels. Fit it to float32 rows, and give to_onnx float32 rows"
        )
    options = {"zipmap": False} | ({"raw_scores": True} if method == "decision_function" else {})
    if isinstance(model, ROUNDS):
        steps = (*steps, ("round", CastTransformer(dtype=np.float32)), ("widen", CastTransformer(dtype=np.float64)))
    graph, said = _Graph.converted(Pipeline([*steps, ("model", model)]), rows, {id(model): options}, output=1)
    if method == "decision_function" and two:  # skl2onnx has a column for each sign, or only the one
        return graph, graph.add("Gather", said, np.array([-1]), axis=1), 1
    return graph, said, len(model.classes_)


# -- graphs ---------------------------------------------------------------------------------------------------------


@dataclass
class _Graph:
    """A graph while it grows: `add` appends a node and returns the name of what it says."""

    nodes: list[Any] = field(default_factory=list)
    constants: list[Any] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)
    opsets: dict[str, int] = field(default_factory=lambda: {"": OPSET})

    @classmethod
    def converted(cls, model: Any, rows: Any, options: dict[int, Any], output: int) -> tuple[_Graph, str]:
        """What skl2onnx makes of a model of scikit-learn, one of its outputs in double precision."""
        # Some models have no operators for double precision (boosting by histograms): those get what they have.
        for sample, opset_ml in ((_in(np.float64, rows), OPSET_ML), (_in(np.float32, rows), None)):
            try:
                made = _convert(model, sample, dict(options), opset_ml)
                break
            except Exception as error:  # of many kinds, all about what it cannot do
                failure = error
        else:
            said = str(failure).splitlines()[0][:200]
            raise NotExportableError(f"skl2onnx does not convert {type(model[-1]).__name__}: {said}") from failure
        opsets = {one.domain: one.version for one in made.opset_import} | {"": OPSET}
        names = {"label": "skl2onnx_label", "scores": "skl2onnx_scores"}  # ours are the outputs by these names
        for node in made.graph.node:
            for part in (node.input, node.output):
                part[:] = [names.get(name, name) for name in part]
        graph = cls(list(made.graph.node), list(made.graph.initializer), list(made.graph.input), opsets)
        said = made.graph.output[output].name
        return graph, graph.add("Cast", names.get(said, said), to=DOUBLE)

    def add(self, operator: str, *inputs: Any, to_name: str | None = None, **attributes: Any) -> str:
        """Inputs are names, or arrays, which become constants."""
        name = to_name or f"steelyard_{operator.lower()}_{len(self.nodes)}"
        names = [value if isinstance(value, str) else self._constant(value) for value in inputs]
        self.nodes.append(helper.make_node(operator, names, [name], **attributes))
        return name

    def _constant(self, values: Any) -> str:
        self.constants.append(numpy_helper.from_array(values, f"steelyard_constant_{len(self.constants)}"))
        return str(self.constants[-1].name)

    def classifier(self, model: Any, scores: str) -> Any:
        """The whole model, with ``label`` and ``scores`` of a decision function."""
        two = len(model.classes_) == 2
        if two:  # strictly above 0 for the positive class, whichever label that is
            scores = self.add("Squeeze", scores, np.array([1]))
            first = hasattr(model, "offsets_") or model._sign > 0
            above = self.add("Greater" if first else "GreaterOrEqual", scores, np.array(0.0))
            place = self.add("Cast", above, to=TensorProto.INT64)
        else:
            place = self.add("ArgMax", scores, axis=1, keepdims=0)
        labels, kind = _labels(model.classes_)
        self.add("Gather", labels, place, axis=0, to_name="label")
        self.add("Identity", scores, to_name="scores")
        outputs = [
            helper.make_tensor_value_info("label", kind, [None]),
            helper.make_tensor_value_info("scores", DOUBLE, [None] if two else [None, len(model.classes_)]),
        ]
        graph = helper.make_graph(self.nodes, "steelyard", self.inputs, outputs, self.constants)
        opsets = [helper.make_opsetid(domain, version) for domain, version in self.opsets.items()]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR, producer_name="steelyard")


def _labels(classes: Any) -> tuple[Any, int]:
    """The labels as a constant, and their type."""
    for kinds, wanted, kind in (
        ("b", np.bool_, TensorProto.BOOL),
        ("iu", np.int64, TensorProto.INT64),
        ("f", np.float64, DOUBLE),
    ):
        if classes.dtype.kind in kinds:
            return classes.astype(wanted), kind
    if all(isinstance(label, str) for label in classes.tolist()):
        return np.array(classes.tolist(), dtype=object), TensorProto.STRING
    raise NotExportableError(f"labels of an ONNX graph are numbers or strings; got {classes.tolist()}")


def _convert(model: Any, rows: Any, options: dict[int, Any], opset_ml: int | None) -> Any:
    wanted = {"": OPSET} | ({} if opset_ml is None else {"ai.onnx.ml": opset_ml})
    try:
        return skl2onnx.to_onnx(model, rows, target_opset=wanted, options=options)
    except NameError as error:  # an option that this model has not, and needs not
        if "zipmap" not in str(error):
            raise
        kept = {
            key: {name: value for name, value in given.items() if name != "zipmap"} for key, given in options.items()
        }
        return skl2onnx.to_onnx(model, rows, target_opset=wanted, options=kept)


def _in(dtype: Any, rows: Any) -> Any:
    return rows if hasattr(rows, "columns") else rows.astype(dtype)


def _take(made: Any, dtype: Any) -> None:
    """Let the graph take its rows in this precision: they are cast to its own first."""
    graph, given = made.graph, TensorProto.FLOAT if dtype == np.float32 else DOUBLE
    kind = graph.input[0].type.tensor_type
    if kind.elem_type == given:
        return
    name, cast = graph.input[0].name, "steelyard_cast"
    for node in graph.node:
        node.input[:] = [cast if read == name else read for read in node.input]
    graph.node.insert(0, helper.make_node("Cast", [name], [cast], to=kind.elem_type))
    kind.elem_type = given
