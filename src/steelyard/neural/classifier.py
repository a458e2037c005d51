"""A network for tables with scikit-learn's interface, trained for the measure that is reported.

Given rows, a measure of the two rates and perhaps constraints, two networks are trained on one part of the rows, one
with `MeasureLoss` and one with cross-entropy, and judged on the rest (`training.py`). The threshold of their mean is
the best one there, as `ThresholdClassifier` finds it. With `delta` the rows that set the threshold decide nothing else,
so that the promise is about unseen rows.

PyTorch is imported by `fit` and `predict`, not before: parameters can be set, and files looked into, without it.
"""

from __future__ import annotations

import copy
import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from ..estimators._binary import BinaryMixin, Labels, check_weight
from ..estimators._border import as_before, rows_and_y, rows_to_score
from ..estimators._parameters import (
    ANYTHING,
    COUNT,
    CV,
    MEASURE,
    NOT_NEGATIVE,
    NOTHING,
    POSITIVE,
    RANDOM,
    A,
    Checked,
    Table,
    Words,
)
from ..estimators._progress import Progress
from ..estimators._splits import Stratum, read_cv
from ..estimators.threshold import DELTA, ThresholdClassifier
from ..measures import Constraint, FBeta, Measure
from ..measures.constraints import as_constraints
from ..solvers.status import Ended
from ..statistics.promises.promise import asked_of
from ..statistics.resampling import Goal
from .fitted import FittedNetwork, Shape, resolve_device

# "auto" batches: 32 steps an epoch; round numbers, not tuned.
SMALLEST, LARGEST, STEPS = 16, 256, 32
STOPS = 0.2  # with delta: the share of the other rows that judges the epochs
WARNED = {Ended.STOPPED: UserWarning, Ended.TROUBLE: ConvergenceWarning}


class NeuralMeasureClassifier(Checked, BinaryMixin, BaseEstimator):
    """A network for tables, trained for any measure of TPR and TNR, with an exact threshold.

    Parameters
    ----------
    measure : Measure, default=FBeta(1)
        What to maximise: a measure of `steelyard.measures` or an expression of them.
    module : torch.nn.Module or callable, default=None
        A module that gives one logit for each row of standardised columns, or a function that makes one from the
        number of columns. None is a residual network for tables.
    subject_to : Constraint or list of them, default=None
        Such as ``fpr <= 0.01``. The loss takes the first one that is linear in the rates, the threshold all.
    delta : float, default=None
        If given, the constraints hold on *unseen* data with probability ``1 - delta``, as for `ThresholdClassifier`:
        the rows that set the threshold are used for nothing else.
    max_epochs : int, default=100
        At most so many times over the rows.
    batch_size : int or "auto", default="auto"
        Rows in a step: "auto" takes about 32 steps an epoch, with 16 to 256 rows.
    learning_rate, weight_decay : float
        Of AdamW.
    patience : int, default=15
        Training ends when the loss on the rows left out has not fallen for so many epochs.
    width, depth : int
        Of the default network: units in a layer, and residual blocks of two layers.
    dropout : float, default=0.3
    members : int, default=2
        Networks whose logits are averaged: the first, the third and so on are trained with `MeasureLoss`, the others
        with cross-entropy. 1 is `MeasureLoss` alone.
    reward : {"logistic", "hinge", "sigmoid", "ramp", "arctan", "erf"}, default="logistic"
        Surrogate of a right answer in the loss.
    cv : float or one split, default=0.2
        The share of the rows that is left out: it judges the epochs and sets the threshold.
    device : str, default="auto"
        Such as "cpu" or "cuda:1"; "auto" is a GPU if there is one.
    pos_label : label, default=None
        The positive class; the larger label by default.
    random_state : int or RandomState, default=None
        Draws the rows left out, the first weights and the order of the rows.
    verbose : int, default=0
        1 shows progress.

    Notes
    -----
    Columns are standardised inside. Ctrl-C ends the training with the best epoch so far, and a warning.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    network_ : FittedNetwork
        The weights; ``network_.module()`` is the module.
    best_threshold_, best_score_ : float
        The threshold of the logits, and the measure there on the rows left out.
    promise_ : Promise or None
        What was promised, with `delta`.
    frontier_ : Frontier
        `thresholds`, `tpr`, `tnr` of every operating point on those rows.
    history_ : dict of ndarray
        `loss` (on the rows learnt from) and `measure` (on the rows left out) after every epoch.
    n_iter_, best_epoch_ : int
        Epochs, and the last one that the weights of a member are from.
    status_ : Status
        How the training ended.

    See Also
    --------
    ThresholdClassifier : The best threshold of any model.
    steelyard.neural.MeasureLoss : The loss alone, for any module.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> import steelyard as sy, steelyard.measures as m
    >>> X, y = make_moons(1000, noise=0.2, random_state=0)
    >>> model = sy.NeuralMeasureClassifier(m.FBeta(1), max_epochs=20, random_state=0).fit(X[:500], y[:500])
    >>> bool(m.FBeta(1).score(y[500:], model.predict(X[500:])) > 0.9)
    True
    """

    n_features_in_: int
    _parameters: ClassVar[Table] = {
        "measure": (MEASURE,),
        "module": (NOTHING, A("a torch.nn.Module, or a function that makes one from the number of columns")),
        "subject_to": (ANYTHING,),  # read by `as_constraints`
        "delta": (DELTA, NOTHING),
        "max_epochs": (COUNT,),
        "batch_size": (COUNT, Words("auto")),
        "learning_rate": (POSITIVE,),
        "weight_decay": (NOT_NEGATIVE,),
        "patience": (COUNT,),
        "width": (COUNT,),
        "depth": (COUNT,),
        "dropout": (NOT_NEGATIVE,),
        "members": (COUNT,),
        "reward": (Words("logistic", "hinge", "sigmoid", "ramp", "arctan", "erf"),),
        "cv": (CV,),
        "device": (A("a device such as 'cpu' or 'cuda:0', or 'auto'"),),
        "pos_label": (ANYTHING,),
        "random_state": (RANDOM,),
        "verbose": (ANYTHING,),
    }

    def __init__(
        self,
        measure: Measure = FBeta(1),
        *,
        module: Any = None,
        subject_to: Constraint | list[Constraint] | None = None,
        delta: float | None = None,
        max_epochs: int = 100,
        batch_size: Any = "auto",
        learning_rate: float = 2e-3,
        weight_decay: float = 0.1,
        patience: int = 15,
        width: int = 256,
        depth: int = 1,
        dropout: float = 0.3,
        members: int = 2,
        reward: str = "logistic",
        cv: Any = 0.2,
        device: Any = "auto",
        pos_label: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.module = module
        self.subject_to = subject_to
        self.delta = delta
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.patience = patience
        self.width = width
        self.depth = depth
        self.dropout = dropout
        self.members = members
        self.reward = reward
        self.cv = cv
        self.device = device
        self.pos_label = pos_label
        self.random_state = random_state
        self.verbose = verbose

    # -- learning -----------------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NeuralMeasureClassifier:
        """Train the network and set its threshold; `sample_weight` counts in the loss and in the measure."""
        from . import training

        self._check_parameters()
        goal = Goal(self.measure, as_constraints(self.subject_to))
        asked = asked_of(tuple(goal.constraints), self.measure, self.delta, sample_weight)
        with as_before(self):
            rows, y = rows_and_y(self, X, y)
            labels = Labels.of(y, self.pos_label)
            weight = check_weight(sample_weight, labels.is_positive, labels.is_positive)
            part = training.Part(rows.source, labels.is_positive, weight)
            if weight is not None and not weight.all():
                part = part.take(np.flatnonzero(weight))
            rng = check_random_state(self.random_state)
            learn, stop, held = self._parts(part.is_positive, rng, plain=asked is not None and not asked.by_class)
            trained, network = self._train(part.take(learn), part.take(stop), goal, rng)
            held_part = part.take(held)
            scores = trained.scores if held is stop else network.scores(held_part.X, self.device)
            tuned = self._tuned(scores, held_part, goal)
            self._take_labels(labels)
            self.network_, self.history_ = network, {k: np.array(v) for k, v in trained.history.items()}
            self.n_iter_, self.best_epoch_, self.status_ = len(trained.history["loss"]), trained.epoch, trained.status
            self.best_threshold_, self.best_score_ = tuned.best_threshold_, tuned.best_score_
            self.frontier_, self.promise_ = tuned.frontier_, tuned.promise_
            if trained.status.ended in WARNED:  # an error, where warnings are
                warnings.warn(str(trained.status), WARNED[trained.status.ended], stacklevel=2)
        return self

    def _parts(self, is_positive: NDArray[np.bool_], rng: Any, plain: bool) -> tuple[Any, Any, Any]:
        """The rows to learn from, to judge the epochs by, and to set the threshold on: a plain sample, if asked for."""
        splits = read_cv(self.cv, Stratum.of(is_positive, plain=plain), rng)
        if len(splits.pairs) != 1:
            raise ValueError(
                f"one part of the rows is left out to judge a network: give a share such as cv=0.2; got {self.cv!r}"
            )
        learn, held = splits.pairs[0]
        if is_positive[held].all() or not is_positive[held].any():  # too few rows to leave any of a class out
            everything = np.arange(len(is_positive))
            learn = held = everything
        if self.delta is None:
            return learn, held, held
        inner = read_cv(STOPS, Stratum.of(is_positive[learn]), rng).pairs[0]
        return learn[inner[0]], learn[inner[1]], held

    def _train(self, learn: Any, stop: Any, goal: Goal, rng: Any) -> tuple[Any, FittedNetwork]:
        from . import training
        from ._torch import torch
        from .network import Mean

        device = resolve_device(self.device)
        seeds = rng.randint(2**31 - 1, size=2)
        # A module of the user's own may be large: it has all threads.
        with torch.random.fork_rng(), training.one_thread(device if self.module is None else "meta"):
            torch.manual_seed(int(seeds[0]))
            count = int(self.members)
            shape = Shape(self.n_features_in_, int(self.width), int(self.depth), float(self.dropout), count)
            members = []
            for loss in self._losses(goal):
                network = shape.member() if self.module is None else own_module(self.module, shape.n_features)
                training.standardise(network, learn.X)
                members.append(training.Member(network.to(device), loss.to(device)))
            schedule = training.Schedule(
                int(self.max_epochs), self._rows_a_step(len(learn)), float(self.learning_rate),
                float(self.weight_decay), int(self.patience), int(seeds[1]), device,
            )  # fmt: skip
            with Progress(self.verbose, total=schedule.max_epochs * len(learn)) as progress:
                trained = training.train(members, learn, stop, goal, schedule, progress.update)
        for member in members:
            member.network.load_state_dict(member.state)
        whole = Mean([member.network for member in members]).cpu().eval()
        return trained, FittedNetwork.of(whole, None if self.module is not None else shape)

    def _losses(self, goal: Goal) -> list[Any]:
        """Of the members: that of the measure, and cross-entropy for every second one."""
        from .loss import MeasureLoss
        from .training import CrossEntropy

        constraint = next((c for c in goal.constraints if c.is_linear), None)
        return [
            CrossEntropy() if k % 2 else MeasureLoss(self.measure, subject_to=constraint, reward=self.reward)
            for k in range(int(self.members))
        ]

    def _rows_a_step(self, n: int) -> int:
        return min(max(n // STEPS, SMALLEST), LARGEST) if isinstance(self.batch_size, str) else int(self.batch_size)

    def _tuned(self, scores: NDArray[np.float64], held: Any, goal: Goal) -> ThresholdClassifier:
        """The threshold of these scores, by the rules that every other model's has."""
        rule = "auto" if self.delta is not None else "settled" if goal.constraints else "shrunk"
        scored = _Scored()
        scored.classes_ = np.array([False, True])
        tuned = ThresholdClassifier(
            scored, self.measure, subject_to=self.subject_to, delta=self.delta, rule=rule, cv="prefit",
            response_method="decision_function",
        )  # fmt: skip
        return tuned.fit(scores[:, None], held.is_positive, sample_weight=held.weight)

    # -- prediction ---------------------------------------------------------------------------------------------
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The network's logit minus `best_threshold_`: above 0 is what `predict` calls ``classes_[1]``."""
        rows = rows_to_score(self, X)
        return (self.network_.scores(rows.source, self.device) - self.best_threshold_) * self._sign

    def predict(self, X: Any) -> NDArray[Any]:
        """Labels: the positive class where the logit is strictly above `best_threshold_`."""
        above = self.decision_function(X)
        return self._labels(self._sign * above > 0.0)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "network_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.non_deterministic = False
        return tags


class _Scored(ClassifierMixin, BaseEstimator):
    """A fitted model whose rows are their own scores."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> _Scored:
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        return np.asarray(X)[:, 0]

    def predict(self, X: Any) -> NDArray[np.bool_]:
        return self.decision_function(X) > 0.0


def own_module(module: Any, n_features: int) -> Any:
    """The user's module, behind standardised columns."""
    from ._torch import torch
    from .network import Standardised

    made = copy.deepcopy(module) if isinstance(module, torch.nn.Module) else module(n_features)
    if not isinstance(made, torch.nn.Module):
        raise TypeError(f"module is a torch.nn.Module or a function that makes one; got {made!r}")
    return Standardised(made, n_features)
