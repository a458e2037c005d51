"""How soon a signal ends a long call: those of long_calls.py.

Each case runs in a process of its own, which this file is the program of; whoever asks (the tests,
benchmarks/interrupts.py) sends real signals from outside, so that neither the GIL nor a busy interpreter can hold back
the moment of sending. Both sides read one clock.

    python interrupts.py CASE          the child: reads "go" lines, answers "begun" and then one line of JSON for each
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))
from faults.long_calls import CASES

PATIENCE = 15.0  # seconds after which a call that has not heard a signal is killed


@dataclass(frozen=True)
class Heard:
    """How one try ended. `seconds` are from signal to exception; None where there was nothing to measure."""

    after: float
    seconds: float | None
    raised: str = ""
    said: str = ""
    unchanged: bool = True
    trouble: str = ""


# -- the child ----------------------------------------------------------------------------------------------------


def too_long(number: int, frame: Any) -> None:
    raise TimeoutError("said by the handler")


def serve(name: str) -> None:
    """Makes the case ready and runs it once for every line that comes."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGALRM, too_long)
    call = CASES[name]()
    print("ready", flush=True)
    for _ in sys.stdin:
        before = None if call.kept is None else dict(vars(call.kept))
        answer: dict[str, Any] = {"raised": "", "said": ""}
        print("begun", flush=True)
        try:
            call.run()
        except BaseException as error:
            answer = {"raised": type(error).__name__, "said": str(error)}
        answer["at"] = time.perf_counter()
        after = None if call.kept is None else dict(vars(call.kept))
        answer["unchanged"] = before is None or (
            before.keys() == after.keys() and all(before[key] is after[key] for key in before)
        )
        print(json.dumps(answer), flush=True)


# -- the one who sends --------------------------------------------------------------------------------------------


class Child:
    """A case in a process of its own, made ready; `interrupt` may be asked again and again."""

    def __init__(self, name: str):
        command = [sys.executable, "-W", "ignore", str(Path(__file__)), name]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.buffer = b""
        if self._line(60.0) != "ready":
            raise RuntimeError(self._trouble("it was never ready"))

    def interrupt(self, after: float, number: int = signal.SIGINT) -> Heard:
        """Calls, sends the signal `after` seconds later, and says how that ended."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"go\n")
        self.process.stdin.flush()
        if self._line(60.0) != "begun":
            return Heard(after, None, trouble=self._trouble("it did not begin"))
        early = self._line(after)
        if early is not None:
            return Heard(after, None, trouble=f"it was over before the signal: {early or self._trouble('')}")
        sent = time.perf_counter()
        os.kill(self.process.pid, number)
        line = self._line(PATIENCE)
        if not line:
            return Heard(after, None, trouble=self._trouble(f"nothing was heard in {PATIENCE:g} s"))
        answer = json.loads(line)
        if not answer["raised"]:
            return Heard(after, None, trouble="the signal came to nothing: the call returned")
        seconds = answer["at"] - sent
        return Heard(after, seconds, answer["raised"], answer["said"], answer["unchanged"])

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _line(self, seconds: float) -> str | None:
        """The child's next line; "" at its end, None when there is none in time."""
        assert self.process.stdout is not None
        until = time.perf_counter() + seconds
        while b"\n" not in self.buffer:
            left = until - time.perf_counter()
            if left <= 0 or not select.select([self.process.stdout], [], [], left)[0]:
                return None
            piece = os.read(self.process.stdout.fileno(), 65536)
            if not piece:
                return ""
            self.buffer += piece
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()

    def _trouble(self, what: str) -> str:
        self.process.kill()
        _, error = self.process.communicate()
        last = error.decode().strip().split("\n")[-1]
        return f"{what}: {last}" if last else what


def tries(name: str, moments: tuple[float, ...], number: int = signal.SIGINT) -> list[Heard]:
    """One try at each moment; a child that did not survive one is started again."""
    found: list[Heard] = []
    child = Child(name)
    try:
        for after in moments:
            if not child.alive:
                child.close()
                child = Child(name)
            found.append(child.interrupt(after, number))
    finally:
        child.close()
    return found


def as_json(heard: list[Heard]) -> list[dict[str, Any]]:
    return [asdict(one) for one in heard]


if __name__ == "__main__":
    serve(sys.argv[1])
