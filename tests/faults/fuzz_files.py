"""The file readers under atheris, which looks for inputs that reach new lines of them.

    python fuzz_files.py SECONDS FOLDER        of a processor; needs `pip install atheris`; what breaks a reader is left in FOLDER

The first byte of an input says what the rest is: a whole file, with its checksums as they come; or the tree of values of
a model, put into one of the kept files with checksums that fit; or one of its other sections. So the parser is reached
in every case, not just the checksums. A reader may give a model, which is then asked, or raise a `ModelFileError`.
Without atheris, `replay` runs a single input: what was found once is kept in files/found and tried by test_fuzz_files.py.
"""

import gc
import json
import os
import sys
import time
import warnings
from pathlib import Path
from types import FunctionType

import numpy as np

HERE = Path(__file__).parent
LONGEST = 60_000  # bytes of an input: the kept files are shorter
SLOWEST = 5  # seconds of a processor for one input; it takes milliseconds
WAITING = 1200  # seconds by the clock for an input that waits for nothing


class Readers:
    def __init__(self):
        import steelyard as sy
        from faults.corrupt import ask, load
        from steelyard.files.layout import pack, unpack

        self.ask, self.load, self.pack, self.refused = ask, load, pack, sy.ModelFileError
        self.files = []
        for path in sorted((HERE / "files").glob("version_*/*.[sc]*")):  # .sy and .ckpt
            kind = "checkpoint" if path.suffix == ".ckpt" else "model"
            data = path.read_bytes()
            if len(data) < LONGEST:
                parts = {name: bytes(part) for name, part in unpack(data, kind).items()}
                self.files.append((kind, data, parts))

    def seeds(self):
        for k, (_, data, parts) in enumerate(self.files):
            yield bytes([0, k]) + data
            for number, part in enumerate(parts.values(), start=1):
                yield bytes([number, k]) + part

    def replay(self, data):
        if len(data) < 2:
            return
        kind, _, parts = self.files[data[1] % len(self.files)]
        number = data[0] % (len(parts) + 1)
        whole = data[2:]
        if number:
            whole = self.pack(kind, {**parts, list(parts)[number - 1]: data[2:]})
        try:
            found = self.load(whole, kind)
        except self.refused:
            return
        self.ask(found, kind)


class Clock:
    """Ends the run after so many seconds of a processor, and keeps an input that takes too many of them.

    libFuzzer's own clocks go on while others have the processor, so that any input may look slow to them.
    """

    def __init__(self, replay, seconds, folder):
        self.replay, self.until, self.folder = replay, time.process_time() + float(seconds), Path(folder)
        self.found = {"inputs": 0, "slowest": 0.0, "bytes": 0}

    def __call__(self, data):
        began = time.process_time()
        self.replay(data)
        took = time.process_time() - began
        self.found["inputs"] += 1
        if took > self.found["slowest"]:
            self.found |= {"slowest": round(took, 3), "bytes": len(data)}
            if took > SLOWEST:
                (self.folder / f"slow-{self.found['inputs']}").write_bytes(data)
        if began > self.until:
            print(json.dumps(self.found), flush=True)
            os._exit(0)


def main(seconds, folder):
    import atheris

    sys.path.insert(0, str(HERE.parent))
    readers = Readers()
    # One by one: atheris sees no imports of an editable install, and then runs without knowing where inputs lead.
    for found in gc.get_objects():
        if isinstance(found, FunctionType) and str(found.__module__).startswith("steelyard."):
            atheris.instrument_func(found)
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    corpus = Path(folder, "corpus")  # kept for a run that goes on
    corpus.mkdir(exist_ok=True)
    for number, seed in enumerate(readers.seeds()):
        Path(corpus, str(number)).write_bytes(seed)
    # Inputs may be as long as files from the start, and only `Clock` ends them.
    how = [f"-max_len={LONGEST}", "-len_control=0", f"-artifact_prefix={folder}/"]
    how += [f"-timeout={WAITING}", "-rss_limit_mb=4000", f"-report_slow_units={WAITING}"]
    atheris.Setup([sys.argv[0], str(corpus), *how], Clock(readers.replay, seconds, folder))
    atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
