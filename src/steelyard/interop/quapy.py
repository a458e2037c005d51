"""QuaPy's explicit loss minimisation without the external program: change the import, keep the code.

QuaPy's `SVMperf` writes the rows to a file and calls a patched C program; here `StructuralSVM` solves the same
problem in process. Name, constructor and losses are QuaPy's. `svmperf_base` and `host_folder` are accepted and not
used. ``C`` means what ``-c`` of the patched program does: its ``kld`` alone lacks the factor of 100 that all other
losses have. One loss differs: ``01`` here is the share of errors, as in an ordinary linear SVM, where the program's
is 1 as soon as any row is wrong.

`SVMperf` needs nothing but steelyard; the functions `newSVMKLD` and so on return QuaPy's `CC` around it and need QuaPy
(extra ``quapy``).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ..estimators.structural import StructuralSVM


class SVMperf(ClassifierMixin, BaseEstimator):
    """A linear SVM for a quantification loss, with QuaPy's signature and no external program.

    Any two labels, picklable, and one row is enough to predict.

    Parameters
    ----------
    svmperf_base : ignored
        Where QuaPy looks for the program.
    C : float, default=0.01
        The program's ``-c``.
    verbose : bool, default=False
    loss : {"01", "f1", "kld", "nkld", "q", "qacc", "qf1", "qgm", "mae", "mrae"}, default="01"
    host_folder : ignored
        Where QuaPy leaves its files.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from steelyard.interop.quapy import SVMperf
    >>> X, y = make_classification(2000, weights=[0.7], random_state=0)
    >>> labels = y + 1
    >>> round(float((SVMperf(loss="kld", C=1).fit(X[:1000], labels[:1000]).predict(X[1000:]) == 2).mean()), 2)
    0.32
    """

    valid_losses: ClassVar[dict[str, int]] = {
        "01": 0, "f1": 1, "kld": 12, "nkld": 13, "q": 22, "qacc": 23, "qf1": 24, "qgm": 25, "mae": 26, "mrae": 27,
    }  # fmt: skip

    def __init__(
        self,
        svmperf_base: Any = None,
        C: float = 0.01,
        verbose: bool = False,
        loss: str = "01",
        host_folder: Any = None,
    ) -> None:
        self.svmperf_base = svmperf_base
        self.C = C
        self.verbose = verbose
        self.loss = loss
        self.host_folder = host_folder

    def fit(self, X: Any, y: Any) -> SVMperf:
        if self.loss not in self.valid_losses:
            raise ValueError(f"unsupported loss {self.loss!r}, valid ones are {list(self.valid_losses)}")
        C = 100.0 * self.C if self.loss == "kld" else self.C
        name = "zero_one" if self.loss == "01" else self.loss
        self.model_ = StructuralSVM(name, C=C, verbose=int(self.verbose)).fit(X, y)
        self.classes_, self.n_classes_ = self.model_.classes_, 2
        self.n_features_in_ = self.model_.n_features_in_
        if hasattr(self.model_, "feature_names_in_"):
            self.feature_names_in_ = self.model_.feature_names_in_
        return self

    def predict(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return self.model_.predict(X)

    def decision_function(self, X: Any, y: Any = None) -> np.ndarray:
        """The margin of each row; `y` is not used, as in QuaPy."""
        check_is_fitted(self)
        return self.model_.decision_function(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags


def newELM(svmperf_base: Any = None, loss: str = "01", C: float = 1) -> Any:
    """``CC(SVMperf(loss=loss, C=C))`` with QuaPy's `CC`: quantification by explicit loss minimisation."""
    try:
        from quapy.method.aggregative import CC
    except ImportError as error:
        raise ImportError("this needs QuaPy: pip install 'steelyard[quapy]'") from error
    return CC(SVMperf(svmperf_base, loss=loss, C=C))


def newSVMQ(svmperf_base: Any = None, C: float = 1) -> Any:
    """SVM(Q), Barranquero et al. (2015)."""
    return newELM(svmperf_base, loss="q", C=C)


def newSVMKLD(svmperf_base: Any = None, C: float = 1) -> Any:
    """SVM(KLD), Esuli and Sebastiani (2015)."""
    return newELM(svmperf_base, loss="kld", C=C)


def newSVMNKLD(svmperf_base: Any = None, C: float = 1) -> Any:
    """SVM(NKLD), Esuli and Sebastiani (2015)."""
    return newELM(svmperf_base, loss="nkld", C=C)


def newSVMAE(svmperf_base: Any = None, C: float = 1) -> Any:
    """SVM(AE), Moreo and Sebastiani (2021)."""
    return newELM(svmperf_base, loss="mae", C=C)


def newSVMRAE(svmperf_base: Any = None, C: float = 1) -> Any:
    """SVM(RAE), Moreo and Sebastiani (2021)."""
    return newELM(svmperf_base, loss="mrae", C=C)
