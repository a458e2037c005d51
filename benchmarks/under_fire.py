"""How long each fuzzer of `tests/faults` has run, where allocations have been made to fail, and what came of it.

    python benchmarks/under_fire.py fuzz [BINDING...]        odd calls of the core, until each has had `FUZZED` seconds
    python benchmarks/under_fire.py files                    the file readers under atheris, until they have had as many
    python benchmarks/under_fire.py disk                     calls of the disk fail under a run with checkpoints
    python benchmarks/under_fire.py memory core [MODEL...]   the n-th allocation of the core fails, to `ALLOCATIONS`
    python benchmarks/under_fire.py memory all [MODEL...]    that of the whole process

Hours of a processor, so all of them add to what the results have and may be stopped at any moment: the fuzzers go on
with the binding that has had the least, in slices with seeds of their own; models that have been through are left out
unless they are named. What is counted is a processor's time, of forks as well. Claim: five minutes each and every n, no
crash, no hang, and never anything but a MemoryError with all as it was.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from _run import QUICK, RESULTS, write

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
from faults import saved_models
from faults.fuzz_core import BINDINGS

FAULTS = Path(saved_models.__file__).parent
FUZZED, SLICE = (2, 1) if QUICK else (300, 25)  # seconds of a processor
ALLOCATIONS = 20 if QUICK else 2000
CHECKPOINTS = 3 if QUICK else 12
BROKEN = [f"checkpoint: {how}" for how in ("ENOSPC", "EIO", "short", "half", "lie")]
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def kept(name):
    path = RESULTS / f"{name}.json"
    return (
        {key: value for key, value in json.loads(path.read_text()).items() if key != "machine"} if path.exists() else {}
    )


def said(program, *args, **environment):
    """The lines of JSON that a program of the tests prints."""
    command = [sys.executable, "-W", "ignore", str(FAULTS / program), *map(str, args)]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **ONE_THREAD, **environment})
    if ended.returncode != 0:
        raise SystemExit(f"{program} {args} ended with code {ended.returncode}")
    return [json.loads(line) for line in ended.stdout.splitlines() if line.startswith("{")]


def fuzz(*names):
    nothing = {"seconds": 0.0, "tries": 0, "answered": 0, "crashed": [], "slices": 0}

    def had():
        found = kept("fuzz").get("bindings", {})
        return {name: found.get(name, nothing) for name in names or BINDINGS}

    while left := {name: one for name, one in had().items() if one["seconds"] < FUZZED - 1}:
        name = min(left, key=lambda name: left[name]["seconds"])
        slices = left[name]["slices"] + 1
        (ended,) = said("fuzz_core.py", 100 + slices, min(SLICE, FUZZED - left[name]["seconds"]), name)
        one = {**had()[name], "slices": slices}
        for key in ("seconds", "tries", "answered"):
            one[key] = round(one[key] + ended[key], 1)
        one["crashed"] = [*one["crashed"], *sorted(ended["crashed"])]
        all_of_them = kept("fuzz")  # another run may have written meanwhile
        write("fuzz", {**all_of_them, "bindings": {**all_of_them.get("bindings", {}), name: one}}, show=False)
        print(name, one, flush=True)


def files():
    """In slices as well; what leads to new lines is kept for the next one, and what breaks a reader for the tests."""
    with tempfile.TemporaryDirectory() as folder:
        while (had := kept("fuzz").get("files", {"seconds": 0, "inputs": 0, "broken": 0}))["seconds"] < FUZZED - 1:
            seconds = min(SLICE, FUZZED - had["seconds"])
            try:
                *_, ended = said("fuzz_files.py", seconds, folder)
            finally:
                broken = [path for path in Path(folder).iterdir() if path.name != "corpus"]
                for path in broken:
                    (FAULTS / "files" / "found").mkdir(exist_ok=True)
                    shutil.move(path, FAULTS / "files" / "found" / path.name)
            one = {"seconds": round(had["seconds"] + seconds, 1), "inputs": had["inputs"] + ended["inputs"]}
            write("fuzz", {**kept("fuzz"), "files": {**one, "broken": had["broken"] + len(broken)}})


def disk():
    with tempfile.TemporaryDirectory() as folder:
        write("disk", {"cases": said("broken_disk.py", folder, 1, CHECKPOINTS, *BROKEN)})


def shim(folder):
    """The library that fails an allocation; see tests/faults/no_memory.cpp."""
    made = f"{folder}/no_memory.so"
    how = ["-std=c++17", "-O1", "-fPIC", "-shared", "-o", made, str(FAULTS / "no_memory.cpp"), "-ldl"]
    subprocess.run(["g++", *how], check=True)
    return made


def memory(where, *names):
    with tempfile.TemporaryDirectory() as folder:
        library = shim(folder)
        for name in names or [*saved_models.PLAIN, *saved_models.SKOPS]:
            found = kept("no_memory").get("models", {})
            if not names and where in found.get(name, {}):
                continue
            ended = said("no_memory.py", library, where, ALLOCATIONS, 1, name, LD_PRELOAD=library)
            calls = {one["call"]: {key: one[key] for key in ("tried", "refused", "wrong")} for one in ended}
            found = kept("no_memory").get("models", {})  # another run may have written meanwhile
            found.setdefault(name, {})[where] = calls
            write("no_memory", {"allocations": ALLOCATIONS, "models": found}, show=False)
            print(name, where, calls, flush=True)


if __name__ == "__main__":
    what, *words = sys.argv[1:] or ["fuzz"]
    {"fuzz": fuzz, "files": files, "disk": disk, "memory": memory}[what](*words)
