"""The file readers under atheris, which looks for inputs that reach new lines of them.

    python fuzz_files.py SECONDS FOLDER        needs `pip install atheris`; what breaks a reader is left in FOLDER

The first byte of an input says what the rest is: a whole file, with its checksums as they come; or the tree of values of
a model, put into one of the kept files with checksums that fit; or one of its other sections. So the parser is reached
in every case, not just the checksums. A reader may give a model, which is then asked, or raise a `ModelFileError`.
Without atheris, `replay` runs a single input: what was found once is kept in files/found and tried by test_fuzz_files.py.
"""

import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
READERS = (
    "steelyard.files", "steelyard.saving", "steelyard.estimators._saved", "steelyard.estimators._saved_parts",
    "steelyard.quantification._saved", "steelyard.streams.checkpoint",
)  # fmt: skip
LONGEST = 60_000  # bytes of an input: the kept files are shorter
SLOWEST = 20  # seconds for one input on a busy machine; it takes milliseconds


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


def main(seconds, folder):
    import atheris

    with atheris.instrument_imports(include=list(READERS)):
        sys.path.insert(0, str(HERE.parent))
        readers = Readers()
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    with tempfile.TemporaryDirectory() as corpus:
        for number, seed in enumerate(readers.seeds()):
            Path(corpus, str(number)).write_bytes(seed)
        how = [
            f"-max_total_time={seconds}",
            f"-artifact_prefix={folder}/",
            f"-timeout={SLOWEST}",
            f"-report_slow_units={SLOWEST}",
            "-rss_limit_mb=4000",
        ]
        atheris.Setup([sys.argv[0], corpus, f"-max_len={LONGEST}", *how], readers.replay)
        atheris.Fuzz()


if __name__ == "__main__":
    main(*sys.argv[1:])
