"""A linear model trained for the measure that is reported, under constraints on the rates.

    max over (loss, costs, C) and the offset   measure(TPR, TNR)   subject to linear constraints on the rates

The models are cost-sensitive ones (`solvers.cost_sensitive`), explored and chosen on out-of-fold scores with the
offset taken exactly (`solvers.search.exploration`). Algorithm 2 of Kar et al. (2016), CAN, is ``solver="can"``.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from ..elsewhere import is_elsewhere
from ..measures import FBeta, Measure
from ..measures.constraints import Constraint, as_linear_constraints
from ..solvers.linear import cost_sensitive
from ..solvers.search.alternation import alternate
from ..solvers.search.exploration import Candidate, Exploration, Sample
from ..solvers.search.models import (
    CostModel,
    Effort,
    Labelled,
    Model,
    StreamModel,
    costs_of_ratio,
    fit_stream,
)
from ..solvers.search.race import race
from ..solvers.search.transfer import refitted
from ..solvers.search.work import State, Work
from ..statistics.promises.counts import Scored
from ..statistics.promises.promise import Asked, Promise, asked_of, keep
from ..statistics.resampling import Goal
from . import _measure_elsewhere
from ._binary import Labels, check_weight, threads
from ._border import as_before, rows_and_y
from ._linear import LinearMixin, typical_norm
from ._parameters import (
    ANY_MEASURE,
    ANYTHING,
    CV,
    FLAG,
    NOTHING,
    POSITIVE,
    RANDOM,
    SHARE,
    THREADS,
    Checked,
    ListOf,
    Table,
    Words,
)
from ._progress import say, watching
from ._splits import NO_PREFIT, Splits, Stratum, read_cv

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SearchPlan:
    """What is tried. Costs and Cs were settled on splits of letter, satimage, spambase and adult (docs/batch.md)."""

    Cs: tuple[float, ...] = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
    n_ratios: int = 7  # of the costs
    tol: float = 10.0  # times that of the final fit, in the exploration
    loosest: float = 0.1
    folds: int = 5  # of the rows to train on, where others promise: scikit-learn's default


PLAN = SearchPlan()
HAIR = 1e-12  # of the largest score: x.w + (b - t) > 0 and x.w + b > t round differently


@dataclass(frozen=True, eq=False)
class Found:
    """What the search ended with; `levels` are those of CAN."""

    exploration: Exploration
    chosen: Candidate
    levels: Array | None = None


@dataclass(frozen=True, eq=False)
class _Final:
    """The model fitted on all rows; one of the stream has neither costs nor a certificate."""

    w: Array
    gap: float = np.nan
    n_iter: int = 1
    loss: str = "stream"
    C: float = np.nan
    c_pos: float = np.nan
    c_neg: float = np.nan


class MeasureClassifier(Checked, LinearMixin, BaseEstimator):
    """A linear classifier trained for any measure of TPR and TNR, under any linear constraints on them.

    Cost-sensitive models are explored over cost ratios, C and loss, and chosen on out-of-fold scores with the threshold
    taken exactly. A plain logistic regression or linear SVM is among them, and is left only for a gain well beyond its
    standard error; the threshold is the mean of the best ones over resamples. Scale the features (`StandardScaler`).

    Parameters
    ----------
    measure : Measure, default=FBeta(1)
        What to maximise: a measure of `steelyard.measures` or an expression of them; for several classes a lifted one,
        such as ``macro(FBeta(1))``, under which a model for each class is trained (docs/classes.md).
    subject_to : Constraint or list of them, default=None
        Linear in the rates, such as ``fpr <= 0.01`` or ``Precision() >= 0.9``. Met on the out-of-fold scores, with a
        margin where few rows decide.
    delta : float, default=None
        If given, all constraints together hold on *unseen* data with probability ``1 - delta``: a share `cv` is held
        out, the model is trained on the rest (with five folds of it) and the offset is set by what the share can
        promise, as in `ThresholdClassifier`. No sample weights then.
    C : "auto", float or list of floats, default="auto"
        Weight of the losses against ``|w|^2 / 2``; larger is less regularised. "auto" tries 0.001 to 10 and in between.
    loss : {"auto", "hinge", "squared_hinge", "logistic"}, default="auto"
        "auto" tries all three.
    solver : {"auto", "coordinate", "newton", "bundle", "can"}, default="auto"
        How the cost-sensitive problems are solved (`steelyard.solvers.cost_sensitive`); "can" raises the level of a
        ratio measure by concave alternation instead of searching a grid of costs.
    tol : float, default=1e-3
        Relative duality gap of the final model; the exploration makes do with ten times as much.
    cv : int, float or splitter, default=5
        Folds, or a held-out share: then the model is fitted on the rest only.
    fit_intercept : bool, default=True
        Whether the models have an offset of their own. The threshold is set in any case.
    pos_label : label, default=None
        The positive class; the larger label by default.
    n_jobs : int, default=None
        Threads; the result is the same for any number. None is all cores that ``OMP_NUM_THREADS`` leaves.
    random_state : int or RandomState, default=None
        Draws the held-out share, the resamples that judge a threshold, and the order of coordinate descent.
    verbose : int, default=0
        1 shows the search: about what share is done and how long the rest takes, how many models were fitted to how
        many rows, and the best so far.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,); (n_classes, n_features) and (n_classes,) of several
    class_weights_ : ndarray of shape (n_classes,)
        Of several classes, in place of `costs_` and `frontier_`: the weight of a row of each class in the fit.
    C_, loss_, costs_ : float, str, (float, float)
        The chosen model; `costs_` are those of a false negative and a false positive. Where the stream's learner
        (`OnlineClassifier`) was best `loss_` is "stream", and `C_`, `costs_` and `gap_`, which it lacks, are nan.
    gap_, n_iter_ : float, int
        Certified relative duality gap of the final fit, and its passes over the data.
    best_score_, frontier_ : float, Frontier
        The measure at the chosen threshold, and every operating point, on the out-of-fold scores.
    promise_, classes_, levels_ : Promise or None, labels, the levels that "can" went through

    See Also
    --------
    ThresholdClassifier : The best threshold of any model.
    OnlineClassifier : The same from a stream.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> import steelyard as sy, steelyard.measures as m
    >>> X, y = make_classification(4000, weights=[0.9], flip_y=0.1, class_sep=0.6, random_state=0)
    >>> model = sy.MeasureClassifier(m.FBeta(1), random_state=0).fit(X[:2000], y[:2000])
    >>> round(m.FBeta(1).score(y[2000:], model.predict(X[2000:])), 1)
    0.4
    """

    _parameters: ClassVar[Table] = {
        "measure": (ANY_MEASURE,),
        "subject_to": (ANYTHING,),
        "delta": (SHARE, NOTHING),  # read by `as_constraints`
        "C": (Words("auto"), POSITIVE, ListOf(POSITIVE)),
        "loss": (Words("auto", *cost_sensitive.LOSSES),),
        "solver": (Words(*cost_sensitive.NAMES, "can"),),
        "tol": (POSITIVE,),
        "cv": (CV,),
        "fit_intercept": (FLAG,),
        "pos_label": (ANYTHING,),
        "n_jobs": (THREADS,),
        "random_state": (RANDOM,),
        "verbose": (ANYTHING,),
    }

    promise_: Promise | None = None  # models of files from before there were any have none

    def __init__(
        self,
        measure: Measure = FBeta(1),
        *,
        subject_to: Constraint | list[Constraint] | None = None,
        delta: float | None = None,
        C: Any = "auto",
        loss: str = "auto",
        solver: str = "auto",
        tol: float = 1e-3,
        cv: Any = 5,
        fit_intercept: bool = True,
        pos_label: Any = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.measure = measure
        self.subject_to = subject_to
        self.delta = delta
        self.C = C
        self.loss = loss
        self.solver = solver
        self.tol = tol
        self.cv = cv
        self.fit_intercept = fit_intercept
        self.pos_label = pos_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, checkpoint: Any = None) -> MeasureClassifier:
        """Explore, choose, and fit the chosen model on all rows; `sample_weight` counts in losses and measure alike.

        X may be a tensor, or a Dask collection: then a fit with a file `checkpoint` goes on where it was killed.
        """
        self._check_parameters()
        if self.measure.is_lifted:
            from . import _measure_classes

            fitted: MeasureClassifier = _measure_classes.fit(self, X, y, sample_weight)
            return fitted
        goal = Goal(self.measure, as_linear_constraints(self.subject_to))
        if is_elsewhere(X) or checkpoint is not None:
            _measure_elsewhere.fit(self, X, y, sample_weight, goal, checkpoint)
            return self
        with as_before(self), watching(self.verbose, type(self).__name__, State.told) as watch:
            work = None if watch is None else Work(watch)
            rows, y = rows_and_y(self, X, y)
            labels = Labels.of(y, self.pos_label, self.measure)
            weight = check_weight(sample_weight, labels.is_positive, labels.is_positive)
            asked = asked_of(tuple(goal.constraints), goal.measure, self.delta, weight)
            splits = self._splits(labels.is_positive, asked)
            rows = rows.packed().with_constant(typical_norm(rows, weight) if self.fit_intercept else 0.0)
            data = Labelled(rows, labels.signs, weight)
            if asked is None:
                found = self._search(Sample(data, splits.pairs), goal, work)
                self._take_labels(labels)
                model = self._refit(found, None if splits.refits else splits.pairs[0][0])
                self.promise_ = None
            else:
                train, held = (data.take(part) for part in splits.pairs[0])
                folds = read_cv(PLAN.folds, Stratum.of(train.y > 0), self.random_state)
                found = self._search(Sample(train, folds.pairs), goal, work)
                self._take_labels(labels)
                model = self._refit(found, None)
                self._keep(asked, train, held)
        self._say(model)
        return self

    def _say(self, model: Any, where: str = "out of fold") -> None:
        if self.verbose:
            say(f"{type(self).__name__}: {model}, {self.best_score_:.4f} {where}, gap {self.gap_:.1e}")

    def _keep(self, asked: Asked, train: Labelled, held: Labelled) -> None:
        """Move the offset to where the rows held out promise the constraints; the constant is in the intercept."""
        w = np.append(self.coef_[0], np.zeros(held.rows.n_cols - self.n_features_in_))

        def scored(part: Labelled) -> Scored:
            return Scored(self._sign * (part.rows.scores(w) + self.intercept_[0]), part.y > 0)

        rows = scored(held)
        before = None if asked.only_caps or asked.only_floors else scored(train)
        self.promise_, choice = keep(rows, before, asked, prevalence=float((train.y > 0).mean()))
        hair = HAIR * (1.0 + float(np.abs(rows.scores).max()))
        self.intercept_ = self.intercept_ - self._sign * (choice.threshold + hair)
        self.best_score_ = choice.value

    # -- exploring ----------------------------------------------------------------------------------------------
    def _search(self, sample: Sample, goal: Goal, work: Work | None) -> Found:
        Cs = PLAN.Cs if self._tunes_C() else tuple(float(c) for c in np.atleast_1d(self.C))
        losses = cost_sensitive.LOSSES if self.loss == "auto" else (self.loss,)
        seed = int(check_random_state(self.random_state).randint(2**31))
        solver = "auto" if self.solver == "can" else self.solver
        tol = min(PLAN.tol * self.tol, PLAN.loosest)
        effort = Effort(tol, solver=solver, n_jobs=threads(self.n_jobs), seed=seed, work=work)
        exploration = Exploration(sample, goal, effort)
        if self.solver == "can":
            levels = alternate(exploration, losses, Cs)
            return Found(exploration, exploration.choose(), levels)
        near = partial(self._refine, Cs=Cs)
        won = race(exploration, partial(self._enter, losses=losses, Cs=Cs), near)
        return Found(won.exploration, won.chosen)

    def _enter(self, exploration: Exploration, losses: Sequence[str], Cs: tuple[float, ...]) -> None:
        """A grid of cost ratios and Cs for each loss, the plain models among them, and the stream's learner."""
        prevalence = exploration.sample.prevalence
        balanced = (1.0 - prevalence) / prevalence
        plain = costs_of_ratio(1.0, prevalence)
        middle = {plain, costs_of_ratio(balanced, prevalence), costs_of_ratio(np.sqrt(balanced), prevalence)}
        usual = min(Cs, key=lambda C: abs(np.log(C)))
        wanted, anchors = list[Model](), list[Model]()
        for loss in losses:
            # The hinge depends most on the costs; the others mostly move the threshold, which is taken exactly anyway.
            wide = {costs_of_ratio(r, prevalence) for r in _ratios(prevalence)}
            costs = {plain, *wide} if loss == "hinge" or len(losses) == 1 else middle
            wanted += [CostModel(loss, *pair, C) for pair in sorted(costs) for C in Cs]
            anchors += [CostModel(loss, *plain, usual)] if loss != "hinge" else []
        free = all(isinstance(one, str) and one == "auto" for one in (self.loss, self.C, self.solver))
        if free and len(exploration.goal.constraints) <= 1:
            wanted.append(StreamModel())
        exploration.add(wanted, anchors)

    def _refine(self, exploration: Exploration, halved: int, Cs: tuple[float, ...]) -> None:
        """Half a step of the grid to either side of the best; the next time a quarter."""
        first, second, *_ = _ratios(exploration.sample.prevalence)
        power = 0.5 * 0.5**halved
        exploration.refine((second / first) ** power, 10**power if self._tunes_C() else 1.0, max(Cs))

    def _refit(self, found: Found, train: NDArray[np.intp] | None) -> Model:
        """The chosen model on the rows `train` (None: all), and the attributes that come of it."""
        exploration = found.exploration
        data = exploration.sample.data
        data = data if train is None else data.take(train)
        chosen, final, threshold = refitted(
            found.chosen, exploration, data, lambda model: self._fit_chosen(model, data, exploration)
        )
        offset = data.rows.constant * final.w[-1] if self.fit_intercept else 0.0
        self.C_, self.loss_, self.costs_ = final.C, final.loss, (final.c_pos, final.c_neg)
        self.gap_, self.n_iter_, self.best_score_ = final.gap, max(1, final.n_iter), chosen.point.value
        self.__dict__.pop("class_weights_", None)  # of a fit to several classes
        self.frontier_ = exploration.frontier(exploration.scores(chosen.model))
        if found.levels is not None:
            self.levels_ = found.levels
        self._set_model(final.w[: self.n_features_in_], offset - threshold)
        return chosen.model

    def _fit_chosen(self, model: Model, data: Labelled, exploration: Exploration) -> _Final:
        effort = exploration.effort
        if effort.work is not None:
            effort.work.did(0.0, f"{model} on all {data.rows.n_rows:,} rows")
        if isinstance(model, StreamModel):
            return _Final(fit_stream(model, data, exploration.goal, effort.seed), n_iter=model.passes)
        final = cost_sensitive.solve(
            data.rows, data.y, model.c_pos, model.c_neg, model.C, self.tol, model.loss, effort.solver, data.weight,
            n_jobs=effort.n_jobs, seed=effort.seed, start=exploration.a_start(model),
        )  # fmt: skip
        if not final.converged:
            warnings.warn(
                f"the final fit ended at a relative gap of {final.gap:.2g}, above tol={self.tol} ({final.status}): "
                "features on very different scales are the usual reason; put a StandardScaler in front, or give a "
                "smaller C",
                ConvergenceWarning,
                stacklevel=4,
            )
        return _Final(final.w, final.gap, final.n_iter, model.loss, model.C, model.c_pos, model.c_neg)

    def _tunes_C(self) -> bool:
        return isinstance(self.C, str)

    def _splits(self, is_positive: NDArray[np.bool_], asked: Asked | None) -> Splits:
        plain = asked is not None and not asked.by_class
        splits = read_cv(self.cv, Stratum.of(is_positive, plain=plain), self.random_state)
        if asked is not None and not splits.held_out and not splits.prefit:
            raise ValueError(f"delta needs rows not seen by the model: cv=0.3 holds out a share; got cv={self.cv!r}")
        if splits.prefit:
            raise ValueError(NO_PREFIT)
        return splits


def _ratios(prevalence: float) -> Array:
    """Cost ratios from half of plain costs to twice the balanced ones."""
    balanced = (1.0 - prevalence) / prevalence
    return np.geomspace(0.5 * min(1.0, balanced), 2.0 * max(1.0, balanced), PLAN.n_ratios)
