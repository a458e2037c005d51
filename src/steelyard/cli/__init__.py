"""The command line: ``steelyard demo | measures | compare | report | fit | predict | quantify | decoys``.

``python -m steelyard`` is the same. Results go to standard output (with --json for machines), everything else to
standard error. A mistake is one message without a traceback; exit codes are in `errors`.
"""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from .errors import INTERRUPTED, explained, note
from .options import parser


def main(arguments: list[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            if not given.debug:
                warnings.showwarning = _warned
            return int(_commands()[given.command](given))
    except KeyboardInterrupt:
        note("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # as of `steelyard predict ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if given.debug:
            raise
        message, code = explained(error)
        note(f"steelyard {given.command}: {message}")
        return code


def _commands() -> dict[str, Any]:
    """Loaded when one of them is called, so that --help is quick."""
    from . import applying, commands, decoys, reporting, training

    return {
        "demo": commands.demo,
        "measures": commands.measures,
        "compare": commands.compare,
        "report": reporting.report,
        "fit": training.fit,
        "predict": applying.predict,
        "quantify": applying.quantify,
        "decoys": decoys.decoys,
    }


def _warned(message: Any, category: Any, *_: Any, **__: Any) -> None:
    note(f"warning: {str(message).replace('pos_label=', '--pos-label ')}")
