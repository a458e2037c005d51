"""The figures of the dual updates, for tensors and for plain numbers: those of the compiled stream learner."""

from __future__ import annotations

from .. import _core

# The figures of the compiled learner, with their reasons there: src/core/stream/class_weights.hpp.
CLIP, FLOOR, SHARE_POWER = (float(getattr(_core.DualSettings(), name)) for name in ("clip", "floor", "share_power"))
# As `MultiplierLimits` and `steepest` in class_weights.hpp have them.
DOWN, UP, LOW, HIGH, LEAST_SLACK, STEEPEST = 0.5, 2.0, 1e-3, 1e3, 1e-6, 1e6
STALE = 1.01  # as `Duals::is_stale`: means cannot have moved by more than a percent when one percent of rows was added
ROWS, MASS, RIGHT, REWARD = range(4)  # the columns of a tally; its lines are all rows, and the positive ones
