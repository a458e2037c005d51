"""Which model, and which door of this library, for a measure on one's own data: `compare`.

Every contender is fitted and judged on the same folds, so differences are paired; the result says when one is noise.
"""

from .compare import compare
from .result import Comparison

__all__ = ["Comparison", "compare"]
