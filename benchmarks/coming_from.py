"""What the two code blocks of each "Coming from" page print: theirs, with the peer installed, and ours.

Each peer has an environment of its own, as some exclude each other; what is not given is left as it was before.

    python benchmarks/coming_from.py quapy=/path/to/python mapie=/path/to/python nproc=Rscript
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from _run import RESULTS, write

CODE = Path(__file__).parent.parent / "docs" / "coming_from" / "code"
WITH = {  # what is asked for its version
    "tuned_threshold": "scikit-learn", "class_weight": "scikit-learn", "one_vs_rest": "scikit-learn", "quapy": "QuaPy",
    "mapie": "MAPIE", "fairlearn": "fairlearn", "mokapot": "mokapot", "tfco": "tensorflow-constrained-optimization",
    "nproc": "nproc",
}  # fmt: skip
VERSION = "from importlib.metadata import version; import sys; print(version(sys.argv[1]))"


def printed(interpreter, path):
    """What a program prints, in a folder of its own."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TF_USE_LEGACY_KERAS": "1"}
    with tempfile.TemporaryDirectory() as folder:
        call = [interpreter, str(path)]
        ran = subprocess.run(call, capture_output=True, text=True, cwd=folder, env=environment, check=True)
    return "\n".join(line.rstrip() for line in ran.stdout.strip().split("\n"))


def version(peer, interpreter):
    if peer == "nproc":
        call = [interpreter, "-e", 'cat(as.character(packageVersion("nproc")))']
    else:
        call = [interpreter, "-c", VERSION, WITH[peer]]
    return f"{WITH[peer]} {subprocess.run(call, capture_output=True, text=True, check=True).stdout.strip()}"


def main(words):
    path = RESULTS / "coming_from.json"
    pages = json.loads(path.read_text())["pages"] if path.exists() else {}
    given = dict(word.split("=", 1) for word in words)
    own = {ours.stem.removesuffix("_ours"): sys.executable for ours in sorted(CODE.glob("*_ours.py"))}
    for peer, interpreter in {**own, **given}.items():
        page = pages.setdefault(peer, {})
        is_r = interpreter.endswith("Rscript")
        page["ours"] = printed(sys.executable if is_r or peer not in given else interpreter, CODE / f"{peer}_ours.py")
        theirs = CODE / f"{peer}_theirs.{'R' if is_r else 'py'}"
        if theirs.exists() and (peer in given or WITH.get(peer) == "scikit-learn"):
            page["theirs"], page["with"] = printed(interpreter, theirs), version(peer, interpreter)
    write("coming_from", {"pages": pages})


if __name__ == "__main__":
    main(sys.argv[1:])
