"""Streams of rows: chunks from arrays, iterators and files larger than memory, and checkpoints to go on from.

Everything that yields ``(X, y)`` or ``(X, y, sample_weight)`` is a stream for `OnlineClassifier.fit_stream`.

>>> import numpy as np
>>> from steelyard import streams
>>> [len(chunk) for chunk in streams.from_arrays(np.zeros((25, 2)), np.zeros(25), chunk=10)]
[10, 10, 5]
"""

from .checkpoint import Checkpoint, CheckpointError
from .chunks import Chunk, from_arrays
from .columns import Columns
from .files import from_arrow, from_csv, from_parquet, from_svmlight
from .matches import MatchTable, read_matches

__all__ = [
    "Checkpoint",
    "CheckpointError",
    "Chunk",
    "Columns",
    "MatchTable",
    "from_arrays",
    "from_arrow",
    "from_csv",
    "from_parquet",
    "from_svmlight",
    "read_matches",
]
