"""As many accepted targets as possible at a false-discovery rate that decoys estimate.

    max T   subject to   D <= max_q T,    T targets and D decoys called positive

The mathematics is in `solvers.decoys.q_value` and the counting in `statistics.target_decoy`; here are labels, groups,
folds and the scikit-learn side.
"""

from __future__ import annotations

import dataclasses
import numbers
import warnings
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length, column_or_1d

from ..rows import Rows
from ..solvers.decoys import q_value
from ..solvers.decoys.bounds import Soft
from ..solvers.decoys.reset import Parted, judged
from ..solvers.decoys.steps import Aim
from ..solvers.decoys.thinning import room, thin
from ..solvers.status import Ended
from ..statistics.target_decoy import check_targets, q_values
from ._binary import BinaryMixin, Labels, check_weight
from ._border import as_before, rows_and_y, rows_to_score
from ._kernel import kernel_params
from ._parameters import ANYTHING, COUNT, CV, NOTHING, POSITIVE, RANDOM, Checked, Number, Table, Words
from ._progress import Steps, say
from ._splits import Splits, Stratum, among, read_cv, reshuffled

Array = NDArray[np.float64]
RowNumbers = NDArray[np.intp]

# Deviations. On simulated rows benchmarks/qvalue_bounds.py confirms that columns level off by a tanh, and would have
# them do so at 1.5; on run 0 of psm-scope2 that accepts less than a Percolator loop, and 3 accepts more than it.
BOUND = 3.0
WIDE = 0.3  # times gamma="scale", for gamma=None: chosen with the tables and seeds named in benchmarks/qvalue.py
ADVICE = {
    Ended.INFEASIBLE: "So `predict` calls every row a decoy: decoys score as high as the best targets. Try a larger "
    "max_q, more rows, other features",
    Ended.TROUBLE: "Scale the features (StandardScaler)",
}
NO_DECOYS = "there are no decoys among these rows, by which a list is judged: nothing tells how many are wrong"
KERNELS, SOLVERS = ("linear", "rbf"), ("annealed", "stochastic")
SAME = 1e-6  # of the spread of the scores: so close are those of one row, read as float32 or as float64
SHARED = 0.1  # of a batch's decoys whose scores are those of training decoys: more than chance makes in numbers


class QValueClassifier(Checked, BinaryMixin, BaseEstimator):
    """As many accepted targets as possible while the decoys among them stay below a share `max_q`.

    Targets are a mixture of right and wrong matches, decoys are known to be wrong and tell how many wrong ones a list
    holds. The loss levels off for targets that cannot be accepted anyway; several ways of training compete on rows
    left out (`held_out_`), and one is refitted: the default unless another is clearly better. Scale the features first
    (`StandardScaler`). Large tables (above 50,000 rows and 6 million numbers) are learned from in part, unless `bound`
    is None: the rows at the top as they are, and a share of the others that stands for all.

    Parameters
    ----------
    max_q : float, default=0.01
        Decoys allowed per accepted target, above 0 and at most 1.
    kernel : {"linear", "rbf"}, default="linear"
        "rbf" adds the Nystroem features of an RBF kernel to the columns, and stays linear where rows left out say so.
        For data that no line divides (right matches around wrong ones); on spectra it gains little at 0.01.
    gamma : {"scale", "auto"} or float, default=None
        Of the RBF kernel ``exp(-gamma |x - x'|^2)``; "scale" is ``1 / (n_features X.var())``, None is 0.3 times that,
        and "auto" is ``1 / n_features``.
    n_components : int, default=50
        Landmarks of the kernel: time grows with their square, memory with rows times landmarks.
    C : float, default=10.0
        Weight of the loss of a row against ``|w|^2 / 2``.
    bound : float, default=3.0
        Deviations from its median at which a column levels off (``c + b tanh((x - c) / b)``), so that no single feature
        carries a row to the top of a list. None takes the columns as they are.
    proof : {None, "reset"}, default=None
        "reset" trains with half of the decoys, drawn by coins, and judges the lists of the rows that were fitted by the
        other half, which training never saw: the mean share of wrong targets in them is then proven to be at most
        `max_q`, if whether a wrong row is a target or a decoy is a coin of its own. It needs one row a group.
    decoys_per_target : float, default=1.0
        How many decoys there are for each wrong target.
    solver : {"annealed", "stochastic"}, default="annealed"
        "stochastic" is the stream learner under the same constraint (`kernel="linear"` only): a fraction of the time,
        and somewhat fewer accepted targets.
    cv : int, float or splitter, default=3
        The rows that choose the way of training and set the threshold: a number of folds, drawn at random and left out
        in turn, a splitter or a list of splits; or a share such as 0.3, held out, and then nothing is fitted again.
    max_iter : int, default=10
        Rounds of self-training at most; passes over the rows for "stochastic".
    pos_label : label, default=None
        The label of targets; the larger label by default.
    random_state : int or RandomState, default=None
        Draws the folds and the landmarks.
    verbose : int, default=0
        1 shows which recipe is learned without which fold, the best so far and the time left, and prints what the rows
        left out said.

    Attributes
    ----------
    recipe_ : str
        The way of training that was chosen.
    held_out_ : dict of str to float
        For each of them the targets accepted among rows left out, the mean over rates from half to twice `max_q` (or a
        double of it, where lists at `max_q` hold fewer than ten decoys).
    bounds_ : ndarray of shape (2, n_features)
        The c and the b of each column, unless `bound` is None.
    coef_, intercept_ : ndarray of shape (1, n_features) and (1,)
        Of the columns as they level off, where the model is linear (`kernel="linear"`, or a linear model won).
    classes_ : ndarray of shape (2,)
    training_decoys_ : ndarray of bool of shape (n_samples,)
        With `proof`: the rows of `fit` that are decoys to train with. They take no part in lists.
    n_iter_ : int

    See Also
    --------
    q_values : The q-value of every row, from any score.
    steelyard.interop.mokapot : The same inside mokapot.

    Examples
    --------
    >>> import numpy as np, steelyard as sy
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(8000, 5)); is_target = np.arange(8000) % 2 == 0
    >>> right = is_target & (rng.random(8000) < 0.3)
    >>> X[right] += [2.0, 2.0, 1.0, 0.0, 0.0]
    >>> model = sy.QValueClassifier(max_q=0.05, random_state=0).fit(X[:4000], is_target[:4000])
    >>> accepted = model.accepted(X[4000:], is_target[4000:])
    >>> one_column = is_target[4000:] & (sy.q_values(X[4000:, 0], is_target[4000:]) <= 0.05)
    >>> bool(accepted.sum() > 2 * one_column.sum())
    True
    """

    _parameters: ClassVar[Table] = {
        "max_q": (Number(0.0, 1.0, low_too=False, meaning="decoys allowed per accepted target"),),
        "kernel": (Words(*KERNELS),),
        "gamma": (NOTHING, Words("scale", "auto"), POSITIVE),
        "n_components": (COUNT,),
        "C": (POSITIVE,),
        "bound": (NOTHING, POSITIVE),
        "proof": (NOTHING, Words("reset")),
        "decoys_per_target": (POSITIVE,),
        "solver": (Words(*SOLVERS),),
        "cv": (CV,),
        "max_iter": (COUNT,),
        "pos_label": (ANYTHING,),
        "random_state": (RANDOM,),
        "verbose": (ANYTHING,),
    }

    def __init__(
        self,
        max_q: float = 0.01,
        *,
        kernel: str = "linear",
        gamma: Any = None,
        n_components: int = 50,
        C: float = 10.0,
        bound: float | None = BOUND,
        proof: str | None = None,
        decoys_per_target: float = 1.0,
        solver: str = "annealed",
        cv: Any = 3,
        max_iter: int = 10,
        pos_label: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.max_q = max_q
        self.kernel = kernel
        self.gamma = gamma
        self.n_components = n_components
        self.C = C
        self.bound = bound
        self.proof = proof
        self.decoys_per_target = decoys_per_target
        self.solver = solver
        self.cv = cv
        self.max_iter = max_iter
        self.pos_label = pos_label
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> QValueClassifier:
        """Fit to targets and decoys; rows of one group (the matches of one spectrum) are left out together."""
        self._check_parameters()
        if self.kernel != "linear" and self.solver == "stochastic":
            raise ValueError("solver='stochastic' learns a linear model: give kernel='linear', or solver='annealed'")
        with as_before(self):
            rows, y = rows_and_y(self, X, y)
            labels = Labels.of(y, self.pos_label)
            weight = check_weight(sample_weight, rows, labels.is_positive)
            groups = _check_groups(groups, rows, alone=self.proof is not None)
            rng = check_random_state(self.random_state)
            parted = self._parted(labels.is_positive, rng)
            seen = labels.is_positive if parted is None else ~parted.trains  # what training is told
            found = self._solve(rows, seen, self._weighed(weight, seen, parted), groups, parted, rng)
            if parted is not None:
                found = judged(found, found.model(rows), labels.is_positive, parted, float(self.max_q))
            self._take_labels(labels)
            self._take(found)
            self._take_judges(found, rows, parted)
            if not found.status.solved:
                warnings.warn(f"{found.status}. {ADVICE[found.status.ended]}", UserWarning, stacklevel=2)
        return self

    def _parted(self, is_target: NDArray[np.bool_], rng: np.random.RandomState) -> Parted | None:
        if self.proof is None:
            return None
        return Parted.by_coins(is_target, int(rng.randint(2**31 - 1)), float(self.decoys_per_target))

    def _weighed(self, weight: Array | None, seen: NDArray[np.bool_], parted: Parted | None) -> Array | None:
        """A decoy weighs as many wrong targets as it stands for."""
        stands = 1.0 / float(self.decoys_per_target) if parted is None else parted.wrong_per_training_decoy
        if stands == 1.0:
            return weight
        return np.where(seen, 1.0, stands) * (1.0 if weight is None else weight)

    def _solve(
        self,
        rows: Rows,
        seen: NDArray[np.bool_],
        weight: Array | None,
        groups: Any,
        parted: Parted | None,
        rng: np.random.RandomState,
    ) -> q_value.QValueResult:
        used = None if weight is None or weight.all() else np.flatnonzero(weight)
        folds, refit = self._folds(rows, seen, groups, used, rng)
        seed, max_q = int(rng.randint(2**31 - 1)), float(self.max_q)
        if used is not None and weight is not None:
            rows, seen, weight = rows.take(used), seen[used], weight[used]
        if parted is not None:
            max_q = parted.rate_to_learn(max_q)
        aim = Aim(max_q, float(self.C), int(self.max_iter))
        bounds = None if self.bound is None else Soft.of(rows, float(self.bound), weight)
        if bounds is not None:
            most = room(rows)
            if most < rows.n_rows:
                thinned = thin(rows, seen, weight, bounds, aim, most, seed)
                folds, weight = thinned.numbers(folds, rows.n_rows), thinned.weight
                rows, seen = rows.take(thinned.which), seen[thinned.which]
            rows = bounds(rows)
        if self.solver == "stochastic":
            passes = int(self.max_iter)
            with Steps(self.verbose, total=passes) as steps:
                found = q_value.solve_stochastic(
                    rows, seen, max_q, passes=passes, seed=seed, sample_weight=weight, callback=partial(_tell, steps)
                )
        else:
            kernel = self._kernel(rows, weight, seed)
            with Steps(self.verbose, total=q_value.n_steps(len(folds), refit, kernel)) as steps:
                watch = partial(_tell, steps) if self.verbose else None  # who watches costs a count of each fold
                found = q_value.solve(rows, seen, aim, folds, weight, kernel, refit=refit, callback=watch)
        return dataclasses.replace(found, model=dataclasses.replace(found.model, bounds=bounds))

    def _folds(
        self, rows: Rows, is_target: NDArray[np.bool_], groups: Any, used: RowNumbers | None, rng: np.random.RandomState
    ) -> tuple[tuple[NDArray[Any], ...], bool]:
        """Rows to leave out in turn, by their number among those used (None: all), and whether to fit again on all."""
        splits = self._splits(rows, is_target, groups, slice(None) if used is None else used, rng)
        narrow = np.int32 if rows.n_rows < 2**31 else np.intp  # they are kept to the end: half of their memory
        return tuple(test.astype(narrow) for test in splits.tests), not splits.held_out

    def _splits(
        self, rows: Rows, is_target: NDArray[np.bool_], groups: Any, used: Any, rng: np.random.RandomState
    ) -> Splits:
        """No rows to leave out where so few are given that a class would go."""
        if isinstance(self.cv, str):
            raise ValueError("cv='prefit' needs a model that is fitted already; this classifier fits its own")
        seed = rng.randint(2**31)
        part = Stratum.of(is_target[used], None if groups is None else groups[used])
        if isinstance(self.cv, numbers.Integral) and int(self.cv) >= 2:
            most = part.rarest()[0] if groups is None else len(np.unique(groups[used]))
            number = min(int(self.cv), most)
            try:
                return reshuffled(number, part, seed) if number > 1 else Splits(())
            except ValueError:  # whole groups leave a part without one of the classes
                return Splits(())
        if isinstance(self.cv, numbers.Real):
            return read_cv(self.cv, part, seed)
        given = read_cv(self.cv, Stratum.of(is_target, groups, rows.source), seed)
        return Splits(tuple((test, test) for test in among(np.arange(rows.n_rows)[used], given.tests, rows.n_rows)))

    def _kernel(self, rows: Rows, weight: Array | None, seed: int) -> q_value.LandmarkKernel | None:
        if self.kernel == "linear":
            return None
        gamma = "scale" if self.gamma is None else self.gamma
        plain = float(kernel_params("rbf", gamma, 0, 0.0, rows, weight)["gamma"])
        return q_value.LandmarkKernel(WIDE * plain if self.gamma is None else plain, int(self.n_components), seed)

    def _take(self, found: q_value.QValueResult) -> None:
        self._model, self.n_iter_ = found.model, found.n_iter
        self.recipe_, self.held_out_ = found.recipe, found.held_out
        for name in ("coef_", "intercept_", "bounds_"):
            self.__dict__.pop(name, None)
        soft, offset = found.model.bounds, found.model.intercept
        if isinstance(soft, Soft):
            self.bounds_ = np.array([soft.centre, soft.reach])
        if found.model.features is None:
            if isinstance(soft, Soft):
                offset = offset - float(found.model.w @ soft.at_zero)  # `Soft` is shifted to have 0 at 0
            self.coef_, self.intercept_ = self._sign * found.model.w.reshape(1, -1), self._sign * np.array([offset])
        if self.verbose:
            counts = ", ".join(f"{name} {count:.0f}" for name, count in found.held_out.items())
            say(f"QValueClassifier: {found.recipe}; accepted among rows left out: {counts or 'none were left out'}")

    def _take_judges(self, found: q_value.QValueResult, rows: Rows, parted: Parted | None) -> None:
        """Which decoys trained, and the scores by which the rows of `fit` are known again."""
        for name in ("training_decoys_", "_fit_scores"):
            self.__dict__.pop(name, None)
        if parted is not None:
            self.training_decoys_, self._fit_scores = parted.trains, found.model(rows)

    def decision_function(self, X: Any) -> np.ndarray:
        """Signed scores, positive for ``classes_[1]``; what `accepted` ranks by when that is the target class."""
        scores = self._scores(X)
        return self._sign * scores

    def predict(self, X: Any) -> np.ndarray:
        """The label of targets where the score is within `max_q` by the rows left out in training.

        For a list of a new batch at `max_q` use `accepted`, which counts that batch's own decoys."""
        return self._labels(self._scores(X) > 0)

    def accepted(self, X: Any, is_target: Any) -> np.ndarray:
        """Which rows of this batch are targets with a q-value of at most `max_q`, by the batch's own decoys.

        With ``proof="reset"`` and the rows of `fit`, in their order, by the decoys that did not train."""
        q = self.q_values(X, is_target)
        return check_targets(is_target, len(q)) & (q <= self.max_q)

    def q_values(self, X: Any, is_target: Any) -> np.ndarray:
        """The q-value of every row of this batch by its own decoys; NaN for decoys that trained."""
        scores = self._scores(X)
        target = check_targets(is_target, len(scores))
        if target.all():
            warnings.warn(NO_DECOYS, UserWarning, stacklevel=2)
        if not hasattr(self, "training_decoys_"):
            return q_values(scores, target, decoys_per_target=self.decoys_per_target)
        trains = self.training_decoys_
        if not self._is_of_fit(scores):
            _warn_of_shared(scores[~target], self._fit_scores[trains])
            return q_values(scores, target, decoys_per_target=self.decoys_per_target)
        if (trains & target).any():
            raise ValueError(
                f"these are the rows of fit, and {int((trains & target).sum())} that were decoys there are targets here"
            )
        parted, found = Parted(trains, float(self.decoys_per_target)), np.full(len(scores), np.nan)
        found[~trains] = q_values(scores[~trains], target[~trains], decoys_per_target=parted.judges_per_target)
        return found

    def _is_of_fit(self, scores: Array) -> bool:
        before = self._fit_scores
        return len(scores) == len(before) and bool(np.abs(scores - before).max() <= SAME * max(np.ptp(before), 1e-300))

    def _scores(self, X: Any) -> Array:
        rows = rows_to_score(self, X)
        return self._model(rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _tell(steps: Steps, state: q_value.State) -> None:
    where = "on all rows" if state.fold is None else f"without fold {state.fold + 1} of {state.n_folds}"
    best = "" if state.best is None else f", best so far: {state.best[0]} accepts {state.best[1]:.0f} left out"
    steps.step(f"{state.recipe} {where}{best}")


def _warn_of_shared(decoys: Array, trained: Array) -> None:
    shared = int(np.isin(decoys, trained).sum())
    if shared > SHARED * len(decoys):
        warnings.warn(
            f"{shared} of {len(decoys)} decoys score like decoys that were trained with: if they are the same, this "
            "list is not covered by the proof. Give the rows of fit in their order, or a batch that has none of them",
            UserWarning,
            stacklevel=4,
        )


def _check_groups(groups: Any, X: Any, alone: bool = False) -> Any:
    if groups is None:
        return None
    groups = column_or_1d(groups)
    check_consistent_length(X, groups)
    number = len(np.unique(groups)) if alone else 0
    if alone and number < len(groups):
        raise ValueError(
            f"proof='reset' needs one row a group; there are {len(groups)} rows in {number} groups. Keep the best row "
            "of each by a score that is not learned: best = steelyard.winners(score, groups)"
        )
    return groups
