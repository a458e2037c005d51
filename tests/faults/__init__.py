"""Things that go wrong: signals, broken disks, damaged files. The full versions: ``STEELYARD_FAULTS=full``."""

import os

import pytest

FULL = os.environ.get("STEELYARD_FAULTS") == "full"
only_full = pytest.mark.skipif(not FULL, reason="minutes each: run with STEELYARD_FAULTS=full")
