"""The q-value classifier inside mokapot (extra `mokapot`): a model for `brew`, and a plug-in for the command line.

mokapot's own `Model` trains its estimator on targets that were accepted before, against all decoys, and repeats. It
takes ``mokapot.Model(QValueClassifier())`` like any classifier, and then the selection is mokapot's. `QValueModel`
gives the classifier every row of the training folds, and the spectrum of each, so that what is optimised is the number
of accepted targets itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from mokapot.model import Model
from mokapot.plugins import BasePlugin
from sklearn.base import clone

from ..estimators.q_value import KERNELS, QValueClassifier


class QValueModel(Model):
    """A model for `mokapot.brew` that trains `QValueClassifier` on all rows of a fold, spectra kept together.

    ``mokapot.brew(psms, QValueModel(0.01), rng=1)`` gives the same result for the same `rng`.

    Parameters
    ----------
    max_q : float, default=0.01
        The rate to train for; give `brew` the same `test_fdr`.
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
        self, max_q: float = 0.01, *, scaler: Any = None, override: bool = False, rng: Any = None, **options: Any
    ) -> None:
        estimator = QValueClassifier(max_q, **options)
        super().__init__(estimator, scaler=scaler, train_fdr=max_q, override=override, rng=rng)

    def fit(self, psms: Any) -> QValueModel:
        """Train on a collection of PSMs."""
        targets = np.asarray(psms.targets, dtype=bool)
        if not targets.any() or targets.all():
            missing = "decoy" if targets.any() else "target"
            raise ValueError(f"No {missing} PSMs were available for training.")
        self.features = psms.features.columns.tolist()
        X = self.scaler.fit_transform(psms.features.to_numpy(dtype=np.float64))
        spectra = pd.MultiIndex.from_frame(psms.spectra).factorize()[0]
        seed = int(self.rng.integers(2**31 - 1))
        self.estimator = clone(self.estimator).set_params(random_state=seed).fit(X, targets, spectra)
        self.is_trained = True
        return self


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

    def get_model(self, config: Any) -> QValueModel:
        return QValueModel(config.train_fdr, kernel=config.steelyard_kernel, override=config.override)
