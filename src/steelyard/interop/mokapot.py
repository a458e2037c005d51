"""The q-value classifier inside mokapot (extra `mokapot`): a model for `brew`, and a plug-in for the command line.

mokapot's own `Model` trains its estimator on targets that were accepted before, against all decoys, and repeats. It
takes ``mokapot.Model(QValueClassifier())`` like any classifier, and then the selection is mokapot's. `QValueModel`
trains on every row of the training folds, and on the spectrum of each, so that what is optimised is the number of
accepted targets itself; by default with the lead of each row over its rivals for the spectrum (`decoys.rivals`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from mokapot.model import Model
from mokapot.plugins import BasePlugin
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from ..estimators.q_value import KERNELS, QValueClassifier
from ..solvers.decoys import rivals
from ..solvers.decoys.steps import Aim


class QValueModel(Model):
    """A model for `mokapot.brew` that trains for accepted targets on all rows of a fold, spectra kept together.

    ``mokapot.brew(psms, QValueModel(0.01), rng=1)`` gives the same result for the same `rng`.

    Parameters
    ----------
    max_q : float, default=0.01
        The rate to train for; give `brew` the same `test_fdr`.
    rivals : bool, default=None
        Score a row also by its lead over the best other row of its spectrum. None does so for a linear model; with
        False, or with a kernel, the rows are scored one by one by `QValueClassifier`.
    scaler : transformer or "as-is", default=None
        mokapot's: None standardises the features.
    override : bool, default=False
        Use the model even where the best single feature accepts more.
    rng : int or Generator, default=None
        `brew` sets it to its own.
    **options
        For `QValueClassifier`: `kernel`, `C`, `n_components`, ...
    """

    def __init__(
        self,
        max_q: float = 0.01,
        *,
        rivals: bool | None = None,
        scaler: Any = None,
        override: bool = False,
        rng: Any = None,
        **options: Any,
    ) -> None:
        estimator = QValueClassifier(max_q, **options)
        plain = estimator.kernel == "linear" and estimator.solver == "annealed"
        if rivals and not plain:
            raise ValueError("rivals=True learns a linear model: leave kernel and solver as they are, or rivals=False")
        self.rivals = plain if rivals is None else bool(rivals)
        self.score = None  # of rows and their spectra, where rivals count
        super().__init__(estimator, scaler=scaler, train_fdr=max_q, override=override, rng=rng)

    def fit(self, psms: Any) -> QValueModel:
        """Train on a collection of PSMs."""
        targets = np.asarray(psms.targets, dtype=bool)
        if not targets.any() or targets.all():
            missing = "decoy" if targets.any() else "target"
            raise ValueError(f"No {missing} PSMs were available for training.")
        self.features = psms.features.columns.tolist()
        X = self.scaler.fit_transform(psms.features.to_numpy(dtype=np.float64))
        seed = int(self.rng.integers(2**31 - 1))
        if self.rivals:
            aim = Aim(float(self.train_fdr), float(self.estimator.C), int(self.estimator.max_iter))
            self.score = rivals.solve(X, targets, _spectra(psms), aim, seed).model
        else:
            self.estimator = clone(self.estimator).set_params(random_state=seed).fit(X, targets, _spectra(psms))
        self.is_trained = True
        return self

    def decision_function(self, psms: Any) -> np.ndarray:
        """Score a collection of PSMs, all those of a spectrum together."""
        if not self.rivals:
            return np.asarray(super().decision_function(psms))
        if self.score is None:
            raise NotFittedError("This model is untrained. Run fit() first.")
        if set(psms.features.columns) != set(self.features):
            raise ValueError("Features of the input data do not match the features of this Model.")
        X = self.scaler.transform(psms.features.loc[:, self.features].to_numpy(dtype=np.float64))
        return self.score(X, _spectra(psms))


def _spectra(psms: Any) -> np.ndarray:
    """A number for each spectrum."""
    return np.asarray(pd.MultiIndex.from_frame(psms.spectra).factorize()[0])


class Plugin(BasePlugin):
    """``mokapot --plugin steelyard``: trains for mokapot's ``--train_fdr``."""

    @staticmethod
    def add_arguments(parser: Any) -> None:
        parser.add_argument(
            "--steelyard_kernel",
            choices=KERNELS,
            default="linear",
            help="The kernel of steelyard's q-value classifier.",
        )
        parser.add_argument(
            "--steelyard_single",
            action="store_true",
            help="Score matches one by one, without their lead over the rivals for the spectrum.",
        )

    def get_model(self, config: Any) -> QValueModel:
        return QValueModel(
            config.train_fdr, rivals=False if config.steelyard_single else None, kernel=config.steelyard_kernel,
            override=config.override,
        )  # fmt: skip
