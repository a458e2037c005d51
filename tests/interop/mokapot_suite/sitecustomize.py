"""mokapot with our model in place of its own, for its own test suite: on PYTHONPATH, in every process that it starts.

PYTHONPATH=.../tests/interop/mokapot_suite pytest tests    (in the source of mokapot; .ci/run has the selection)
"""

import sys

from steelyard.interop.mokapot import QValueModel


class PercolatorModel(QValueModel):
    """`QValueModel` with the arguments that mokapot gives to its default model."""

    def __init__(self, scaler=None, train_fdr=0.01, max_iter=10, direction=None, override=False,
                 subset_max_train=None, n_jobs=-1, rng=None):  # fmt: skip
        super().__init__(train_fdr, scaler=scaler, override=override, rng=rng, max_iter=max_iter)


for name in ("mokapot", "mokapot.brew", "mokapot.model"):  # its command line takes it from the last of these
    sys.modules[name].PercolatorModel = PercolatorModel
