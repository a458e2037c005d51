"""Damages files on purpose, in processes of their own: ``python corrupt.py DAMAGED FORGED FILE...``.

Each file has a fork to itself, so that none but the first waits for the imports; its seed is the name of its folder.

"damage" is what disks and networks do: bytes cut off, flipped, zeroed, added. "forge" is what somebody with a
grudge does: any part of the file is changed, and all checksums are made to fit again. Prints how many files loaded, and
how many of the models that came out answered, as a line of JSON. A fork ends with an error as soon as anything but a `ModelFileError` comes of
loading, anything but a ValueError of asking, one file takes more than a second, or asks for gigabytes.
"""

import json
import os
import random
import resource
import signal
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, __file__.rsplit("/", 1)[0])
import saved_models

import steelyard as sy
from steelyard.files.layout import MAGIC, pack, unpack
from steelyard.saving import _estimator_in
from steelyard.streams.checkpoint import Checkpoint

HOSTILE = [
    None, True, -1, 0, 1, 2, 3, 2**31, 2**40, 2**63, -(2**70), 0.5, -1e308, 1e308, 1e-320, "", "x", "rbf", "<f8", "|O8",
    "<U99999999", [], {}, [0], [2**40, 2**40], {"float": "nan"}, {"float": "inf"}, {"tuple": []}, {"dict": {}},
    {"same": 0}, {"same": 1}, {"bytes": 0}, {"objects": ["a", "b"]}, {"measure": ["FBeta", 1]},
    {"measure": ["Sum", ["FBeta", 1], 3]}, {"object": "CostPath", "state": {}}, {"skops": 0},
    {"array": 0, "dtype": "<f8", "shape": [1], "order": "C"}, {"scalar": "<f8", "is": "000000000000f87f"},
]  # fmt: skip
MEMORY = 2 * 2**30  # bytes that the process may ask for beyond what Python and its libraries have
WORDS = np.array([0, 1, -1, 2, 255, 2**31, 2**40, 2**62, -(2**62)], dtype=np.int64)


def damaged(good, rng):
    """Not the file it was."""
    bad = bytearray(good)
    kind = rng.randrange(4)
    if kind == 0:
        return bytes(bad[: rng.randrange(len(bad))])
    if kind == 1:
        bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
        return bytes(bad)
    if kind == 2:
        at, length = rng.randrange(len(bad)), rng.choice([1, 8, 64, 4096])
        bad[at : at + length] = bytes(len(bad[at : at + length]))
        return bytes(bad) if bytes(bad) != good else good[:-1]
    return good + bytes(rng.randrange(256) for _ in range(rng.randrange(1, 200)))


def forged(good, kind, rng):
    """One to three changes inside, with checksums that fit."""
    try:
        sections = {name: bytes(part) for name, part in unpack(good, kind).items()}
    except sy.ModelFileError:  # a state inside that has been changed before
        return good
    for _ in range(rng.randint(1, 3)):
        name = "tree" if rng.random() < 0.6 else rng.choice(list(sections))
        if name == "tree" and rng.random() < 0.9:
            try:
                tree = json.loads(sections["tree"])
            except ValueError:
                continue
            change_tree(tree, rng)
            sections["tree"] = json.dumps(tree).encode()
        elif sections[name].startswith(MAGIC) and rng.random() < 0.7:  # a state inside, with checksums of its own
            sections[name] = forged(sections[name], "state", rng)
        else:
            sections[name] = changed_bytes(sections[name], rng)
    return pack(kind, sections)


def change_tree(tree, rng):
    """Something hostile, or another part of it, in the place of one part."""
    places, parts, walk = [], [], [tree]
    while walk:
        node = walk.pop()
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            places.append((node, key))
            parts.append(node[key])
            if isinstance(node[key], (dict, list)):
                walk.append(node[key])
    if not places:  # all of it is gone already
        return
    node, key = rng.choice(places)
    how = rng.random()
    if how < 0.15:
        del node[key]
    elif how < 0.35:
        node[key] = json.loads(json.dumps(rng.choice(parts)))
    elif how < 0.45 and isinstance(node[key], (int, float)) and not isinstance(node[key], bool):
        node[key] = node[key] + rng.choice([-1, 1, 1000, 0.5])
    else:
        node[key] = rng.choice(HOSTILE)


def changed_bytes(part, rng):
    if not part:
        return bytes(8)
    how = rng.randrange(5)
    if how == 0:
        return part[: rng.randrange(len(part))]
    if how == 1:
        return part + part[: rng.choice([1, 8, 64])]
    bad = bytearray(part)
    at = 8 * rng.randrange(max(1, len(bad) // 8))
    if how == 2:
        bad[rng.randrange(len(bad))] ^= 1 << rng.randrange(8)
    elif how == 3:
        bad[at : at + 8] = WORDS[rng.randrange(len(WORDS))].tobytes()
    else:
        bad[at : at + 8] = np.array(rng.choice([np.nan, np.inf, -1e300, 1e-310, 0.0])).tobytes()
    return bytes(bad[: len(part)])


def load(data, kind):
    return Checkpoint.from_bytes(data) if kind == "checkpoint" else _estimator_in(data, ())


def ask(found, kind):
    """True if it answers, False if it says that it cannot."""
    try:
        if kind == "checkpoint":
            model = sy.OnlineClassifier(sy.measures.BAKLD(), random_state=0)
            model._resume(found)
            X = np.random.default_rng(0).normal(size=(60, model.n_features_in_))
            model.partial_fit(X, model.classes_[(X[:, 0] > 0).astype(int)]).predict(X)
        else:
            saved_models.answers(found)
            if isinstance(found, (sy.OnlineClassifier, sy.StreamQuantifier)):
                saved_models.goes_on(found)
    except ValueError:
        return False
    return True


def try_all(how, good, kind, count, seed):
    loaded = answered = 0
    for number in range(count):
        rng = random.Random(f"{how} {seed} {number}")
        bad = damaged(good, rng) if how == "damage" else forged(good, kind, rng)
        started = time.process_time()
        try:
            found = load(bad, kind)
        except sy.ModelFileError:
            found = None
        except Exception as error:
            raise AssertionError(f"number {number}") from error
        took = time.process_time() - started
        assert took < 1.0, f"number {number} took {took:.1f} s to load"
        if found is not None:
            loaded += 1
            try:
                answered += ask(found, kind)
            except Exception as error:
                raise AssertionError(f"number {number}, when asked") from error
    return f"{how}: {loaded} loaded, {answered} answered"


def limit_memory():
    with open("/proc/self/statm") as statm:
        taken = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, taken + MEMORY))


def try_file(file, n_damaged, n_forged):
    """What came of it, in words; an error is said on stderr, and a crash says nothing."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            limit_memory()
            signal.alarm(60 + (n_damaged + n_forged) // 2)  # a hang ends here
            good, kind = Path(file).read_bytes(), "checkpoint" if file.endswith("ckpt") else "model"
            seed = Path(file).parent.name
            ends = [try_all("damage", good, kind, n_damaged, seed), try_all("forge", good, kind, n_forged, seed)]
            os.write(write, "\n".join(ends).encode())
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read) as answer:
        said = answer.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


def main(n_damaged, n_forged, files):
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    for file in files:
        code, said = try_file(file, n_damaged, n_forged)
        print(json.dumps({"file": file, "code": code, "said": said}), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
