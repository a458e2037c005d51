"""Things that go wrong: signals, broken disks, damaged files. The full versions: ``STEELYARD_FAULTS=full``."""

import os

FULL = os.environ.get("STEELYARD_FAULTS") == "full"
