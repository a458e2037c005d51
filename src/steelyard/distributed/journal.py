"""What rounds have answered, in a file: a fit that was killed is called again and goes on from the last round.

A fit is a function of its data, its parameters and its seed, and all that it learns of the data are the answers of its
rounds. So these answers are the checkpoint: called again, the fit asks the same questions in the same order, and up to
the last round that was answered the file answers, with the same bits. Each answer is kept with a digest of its
question; where another question is asked it is another fit, and refused. The first question is what the partitions
hold, and is always asked of the data. The file is one of `steelyard.files`: checked, replaced whole after every round,
no pickle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from ..files import replace
from ..files.errors import ModelFileError
from ..files.values import from_bytes, to_bytes

KIND = "rounds"


class Journal:
    """Answers by their number. `of` says whose they are: parameters, and what the partitions hold."""

    def __init__(self, path: Any, of: str) -> None:
        self.path, self.of = replace.check_place(path), digest(of)
        self.at = 0
        self.answers: list[tuple[str, Any]] = self._read()

    def _read(self) -> list[tuple[str, Any]]:
        if not Path(self.path).exists():
            return []
        try:
            found = from_bytes(KIND, replace.read(self.path))
            of, questions, answers = found["of"], found["questions"], found["answers"]
        except (ModelFileError, KeyError, TypeError) as error:
            raise ModelFileError(f"{self.path}: {error}. Remove the file to start again") from error
        if of != self.of:
            raise ModelFileError(
                f"{self.path} is the checkpoint of another fit: other data, other partitions or other parameters. "
                "Give another file, or remove it to start again"
            )
        return list(zip(questions, answers, strict=True))

    def answer(self, name: str, given: tuple[Any, ...], ask: Callable[[], Any]) -> Any:
        """That of the file, or that of `ask`, which is written down."""
        question = digest((name, given))
        self.at += 1
        if self.at <= len(self.answers):
            known, found = self.answers[self.at - 1]
            if known != question:
                raise ModelFileError(
                    f"{self.path} is the checkpoint of another fit: its round {self.at} asked something else. Give "
                    "another file, or remove it to start again"
                )
            return found
        found = ask()
        self.answers.append((question, found))
        questions, answers = zip(*self.answers, strict=True)
        content = {"of": self.of, "questions": list(questions), "answers": list(answers)}
        replace.write(self.path, to_bytes(KIND, content))
        return found


def digest(value: Any) -> str:
    """The same for the same numbers, text, tuples and arrays."""
    state = hashlib.sha256()
    _feed(state, value)
    return state.hexdigest()


def _feed(state: Any, value: Any) -> None:
    if isinstance(value, np.ndarray):
        state.update(f"{value.dtype}{value.shape}".encode())
        state.update(
            np.ascontiguousarray(value).tobytes() if value.dtype.kind != "O" else repr(value.tolist()).encode()
        )
    elif isinstance(value, (tuple, list)):
        state.update(f"{type(value).__name__}{len(value)}".encode())
        for one in value:
            _feed(state, one)
    else:
        state.update(repr(value).encode())
