"""What the command says when it cannot go on, and the number that it ends with."""

from __future__ import annotations

import errno
import re
import sys

# 0 is success; argparse ends with 2 itself; 128 + the number of the signal is a shell's custom.
DATA, USAGE, REFUSED, INTERRUPTED = 1, 2, 3, 130


class CommandError(Exception):
    """A mistake in what was given, with the exit code that stands for it."""

    def __init__(self, message: str, code: int = DATA) -> None:
        super().__init__(message)
        self.code = code


def explained(error: BaseException) -> tuple[str, int]:
    """What to say about an exception, without a traceback, and the exit code."""
    from ..files import ModelFileError
    from ..measures import MeasureSyntaxError
    from ..statistics.frontier import InfeasibleError

    if isinstance(error, CommandError):
        return str(error), error.code
    if isinstance(error, MeasureSyntaxError):
        return str(error), USAGE
    if isinstance(error, InfeasibleError):
        return str(error), REFUSED
    if isinstance(error, ModelFileError):
        return re.sub(r"load\(path, trusted=\[(.*)\]\)", _as_options, str(error)), DATA
    if isinstance(error, MemoryError):
        return "there is not enough memory for the whole table; --model online and predict read it in chunks", DATA
    if isinstance(error, OSError):
        if error.errno == errno.ENOSPC:
            return f"the disk is full: {error.filename or 'the output'} was not written", DATA
        return f"{error.filename or 'the file'}: {error.strerror or error}", DATA
    return str(error) or type(error).__name__, DATA


def _as_options(found: re.Match[str]) -> str:
    """What Python's `load` would be given, as the command takes it."""
    return " ".join(f"--trusted {name.strip()}" for name in found[1].replace("'", "").split(","))


def note(message: str) -> None:
    """Beside the result, which is on standard output."""
    print(message, file=sys.stderr)
