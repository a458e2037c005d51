"""What is no file, no model or no place for one is refused, and says why; what is there already stays or is replaced."""

import json
import os
import socket
import stat
import threading
import time

import pytest
from sklearn.linear_model import LogisticRegression

import steelyard as sy
import steelyard.measures as m
from faults.saved_models import X, Y
from steelyard.files.layout import pack


# -- what is refused --------------------------------------------------------------------------------------------
class Mine(m.Measure):
    """Code of a user."""


class Own(m.FBeta):
    """A measure of a user, by a name of ours or not."""


def test_code_is_refused_when_it_is_saved(tmp_path):
    for measure in (Mine(), Own(), m.FBeta(1) + Own()):
        with pytest.raises(sy.ModelFileError, match=r"Python code of your own.*expression"):
            sy.save(sy.OnlineClassifier(measure), tmp_path / "model.sy")
    with pytest.raises(sy.ModelFileError, match="a function or a class"):
        sy.save(sy.OnlineClassifier(lambda tpr, tnr: max(tpr, tnr)), tmp_path / "model.sy")  # not one of the rates
    deep = m.tpr
    for _ in range(100):
        deep = deep + 1
    with pytest.raises(sy.ModelFileError, match="60 deep"):
        sy.save(sy.OnlineClassifier(deep), tmp_path / "model.sy")
    assert os.listdir(tmp_path) == []


def test_the_analysis_of_a_large_power_takes_no_time():
    """A file with this measure took 70 s to be refused: the power was multiplied out to degree 32 in four variables."""
    base = m.tpr + m.tnr + m.prevalence + m.smoothing + 1
    large = m.power(base**4 * base**4, 4) * base**4
    started = time.process_time()
    assert large.curvature == "unknown"
    assert time.process_time() - started < 1.0


def test_what_is_no_estimator_is_refused(tmp_path):
    for thing in (LogisticRegression(), {"a": 1}, m.FBeta(1), sy.OnlineClassifier):
        with pytest.raises(sy.ModelFileError, match="none of the estimators"):
            sy.save(thing, tmp_path / "model.sy")
    model = sy.StructuralSVM()
    model.note = "mine"
    with pytest.raises(sy.ModelFileError, match="the attribute 'note'"):
        sy.save(model, tmp_path / "model.sy")


def test_a_model_that_could_not_be_loaded_is_not_saved(tmp_path):
    file = tmp_path / "model.sy"
    model = sy.StructuralSVM("zero_one").fit(X, Y)
    sy.save(model, file)
    before = file.read_bytes()
    with pytest.raises(sy.ModelFileError, match="C must be"):
        sy.save(model.set_params(C=-1.0), file)
    assert file.read_bytes() == before


def test_no_memory_inside_skops_is_not_the_fault_of_the_model(tmp_path, monkeypatch):
    """skops leaves its archive half-written, and closing that is what it complains of."""
    skops = pytest.importorskip("skops.io")

    def dumps(value):
        try:
            raise MemoryError
        except MemoryError:
            raise ValueError("I/O operation on closed file") from None

    monkeypatch.setattr(skops, "dumps", dumps)
    with pytest.raises(MemoryError):
        sy.save(sy.ExpectedFBetaClassifier(LogisticRegression()), tmp_path / "model.sy")
    assert os.listdir(tmp_path) == []


def test_other_files_are_refused(tmp_path):
    file = tmp_path / "model.sy"
    with pytest.raises(FileNotFoundError):
        sy.load(file)
    sy.OnlineClassifier(random_state=0).fit_stream([(X, Y)], checkpoint=file)
    with pytest.raises(sy.ModelFileError, match=r"model.sy: it is a checkpoint of a stream, not a model"):
        sy.load(file)
    sy.save(sy.StructuralSVM(), file)
    with pytest.raises(sy.ModelFileError, match="it is a model, not a checkpoint"):
        sy.OnlineClassifier().fit_stream([(X, Y)], checkpoint=file)
    good = file.read_bytes()
    for bad, words in (
        (b"", "not a steelyard file"),
        (b"\x80\x04" + good, "not a steelyard file"),
        (good[:8] + (3).to_bytes(4, "little") + good[12:], "version 3; this steelyard reads up to version 2"),
        (good[:8] + (1).to_bytes(4, "little") + good[12:], "before the first release"),
        (good[:-1], "cut short or added to"),
        (good[:-40] + bytes(8) + good[-32:], "its checksum does not match: it is damaged .its section"),
        (pack("model", {"tree": b'{"dict": {}}'}), "it holds no estimator"),
        (pack("model", {"tree": b'{"object": "os.system", "state": {}}'}), "knows no 'os.system'"),
        (pack("model", {}), "cannot be read"),
    ):
        file.write_bytes(bad)
        with pytest.raises(sy.ModelFileError, match=words):
            sy.load(file)


def test_a_part_that_is_named_often_takes_no_more_memory(tmp_path):
    file = tmp_path / "model.sy"
    for part in ({"bytes": 0}, {"array": 0, "dtype": "<f8", "shape": [1000], "order": "C"}):
        tree = {"object": "StructuralSVM", "state": {"parameters": {"dict": {"loss": [part, part]}}}}
        file.write_bytes(pack("model", {"tree": json.dumps(tree).encode(), "0": bytes(8000)}))
        with pytest.raises(sy.ModelFileError, match="read twice"):
            sy.load(file)


def test_only_files_are_read_and_written(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "socket"))
    for place in (tmp_path / "pipe", tmp_path / "folder", tmp_path / "socket", "/dev/null", "/dev/zero"):
        with pytest.raises((sy.ModelFileError, OSError)) as raised:
            sy.load(place)
        assert isinstance(raised.value, sy.ModelFileError) or place == tmp_path / "socket"  # which cannot be opened
        with pytest.raises(sy.ModelFileError, match=r"is a (FIFO|folder|socket|device)"):
            sy.save(sy.StructuralSVM(), place)
    with pytest.raises(sy.ModelFileError, match="no folder"):
        sy.save(sy.StructuralSVM(), tmp_path / "nowhere" / "model.sy")


# -- how files are replaced -------------------------------------------------------------------------------------
def test_modes_and_links_stay(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link"
    link.symlink_to(real)
    before = os.umask(0o027)
    try:
        sy.save(sy.StructuralSVM(), link)
    finally:
        os.umask(before)
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    real.chmod(0o604)
    sy.save(sy.StructuralSVM("q"), link)
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o604
    assert sy.load(link).loss == "q"


def test_what_a_killed_process_left_is_taken_away_and_what_a_living_one_writes_is_not(tmp_path):
    part = tmp_path / ".model.sy.part"
    part.write_bytes(b"half")
    sy.save(sy.StructuralSVM(), tmp_path / "model.sy")
    assert os.listdir(tmp_path) == ["model.sy"]
    part.symlink_to(tmp_path / "victim")
    (tmp_path / "victim").write_bytes(b"mine")
    sy.save(sy.StructuralSVM(), tmp_path / "model.sy")
    assert (tmp_path / "victim").read_bytes() == b"mine"
    os.remove(tmp_path / "victim")

    many = [sy.StructuralSVM(C=float(k)) for k in range(1, 9)]
    threads = [threading.Thread(target=sy.save, args=(model, tmp_path / "model.sy")) for model in many]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sy.load(tmp_path / "model.sy").C in range(1, 9)
    assert os.listdir(tmp_path) == ["model.sy"]
