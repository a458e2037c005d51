"""The command in a process and a terminal of its own: signals, pipes, a full disk, and memory that is short."""

import os
import pty
import resource
import select
import signal
import subprocess
import sys
import time

import pytest

import steelyard as sy
from steelyard.cli import errors

COMMAND = [sys.executable, "-m", "steelyard"]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pseudo-terminals and limits as Linux has them")


def run(*arguments, **options):
    return subprocess.run(
        [*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120, check=False, **options
    )


def test_mistakes_have_no_traceback(table, tmp_path):
    done = run("fit", table, "--target", "nope", "--out", tmp_path / "m")
    assert done.returncode == errors.DATA
    assert "Traceback" not in done.stderr
    assert run("nothing").returncode == errors.USAGE


@pytest.mark.slow
def test_a_pipe_that_closes(table, tmp_path):
    run("fit", table, "--target", "label", "--pos-label", "yes", "--out", tmp_path / "m")
    shell = f"{sys.executable} -m steelyard predict {tmp_path / 'm'} {table} | head -1"
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("prediction\n", "")


@pytest.mark.slow
def test_a_full_disk(table, tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full")
    run("fit", table, "--target", "label", "--pos-label", "yes", "--out", tmp_path / "m")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*COMMAND, "predict", str(tmp_path / "m"), str(table)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
            check=False,
        )
    assert done.returncode != 0
    assert "disk is full" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_ctrl_c_in_a_terminal_keeps_the_model_so_far(tmp_path):
    """Rows come through a pipe for as long as it takes; the terminal shows progress, and Ctrl-C is typed into it."""
    out, screen = tmp_path / "model", b""
    controller, terminal = pty.openpty()
    read, write = os.pipe()
    job = subprocess.Popen(
        [*COMMAND, "fit", "-", "--target", "y", "--model", "online", "--out", str(out)],
        stdin=read, stdout=subprocess.PIPE, stderr=terminal, start_new_session=True,
    )  # fmt: skip
    os.close(read)
    chunk = b"".join(b"%d,%d,%d\n" % (k % 7, k % 3, k % 2) for k in range(20_000))
    os.write(write, b"a,b,y\n")
    for _ in range(5):
        sent = 0
        while sent < len(chunk):
            sent += os.write(write, chunk[sent:])
    deadline = time.monotonic() + 60
    while b"rows/s" not in screen and time.monotonic() < deadline:
        if select.select([controller], [], [], 1.0)[0]:
            screen += os.read(controller, 4096)
    job.send_signal(signal.SIGINT)
    said = job.communicate(timeout=60)[0].decode()
    os.close(write)
    assert b"rows/s" in screen
    assert job.returncode == errors.INTERRUPTED
    assert "rows" in said
    assert sy.load(out).predict([["1", "1"]]).shape == (1,)


def in_terminal(*arguments, until=b"", typed=b""):
    """What a terminal shows of a command that runs in it, and how it ends; `typed` once it shows `until`."""
    process, terminal = pty.fork()
    if process == 0:
        os.execv(sys.executable, [*COMMAND, *map(str, arguments)])
    screen, deadline = b"", time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            screen += os.read(terminal, 4096)
        except OSError:  # the other end is closed: it has ended
            break
        if typed and until in screen:
            os.write(terminal, typed)
            typed = b""
    os.close(terminal)
    return screen.decode(), os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@pytest.mark.slow
def test_progress_of_a_comparison_in_a_terminal(table):
    goal = ("--target", "label", "--pos-label", "yes", "--folds", 2)
    screen, code = in_terminal("compare", table, *goal)
    assert code == 0
    assert "fold 2 of 2" in screen
    assert "ahead" in screen
    assert "Take " in screen


@pytest.mark.slow
def test_ctrl_c_typed_into_a_comparison(table, tmp_path):
    goal = ("--target", "label", "--pos-label", "yes", "--out", tmp_path / "m")
    screen, code = in_terminal("compare", table, *goal, until=b"fold 1 of 5", typed=b"\x03")
    assert code == errors.INTERRUPTED
    assert "interrupted" in screen
    assert "Traceback" not in screen
    assert not (tmp_path / "m").exists()


@pytest.mark.slow
def test_mistakes_in_a_terminal(table, tmp_path):
    """A missing column, and a broken line by its number."""
    screen, code = in_terminal("report", table, "--target", "nope", "--out", tmp_path / "r.html")
    assert (code, "there is no column 'nope'; there are 'a'" in screen) == (errors.DATA, True)
    with open(table, "a") as file:
        file.write("1,2,3\n")
    screen, code = in_terminal("report", table, "--target", "label", "--out", tmp_path / "r.html")
    assert (code, "line 602 has 3 fields; the header has 8" in screen) == (errors.DATA, True)
    assert "Traceback" not in screen
    assert not (tmp_path / "r.html").exists()


def limited(megabytes):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    return limit


@pytest.mark.slow
def test_files_larger_than_memory(tmp_path):
    """A CSV of 60 MB, 600,000 rows, of which the text alone takes several hundred MB as Python's objects."""
    data, model = tmp_path / "large.csv", tmp_path / "model"
    block = "".join(
        f"{k % 97}.12345678,{k % 89}.12345678,{k % 83}.12345678,{k % 79}.12345678,{k % 2}\n" for k in range(20_000)
    )
    with open(data, "w") as file:
        file.write("a,b,c,d,y\n")
        for _ in range(30):
            file.write(block)
    small = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    limit = {"preexec_fn": limited(640), "env": small}
    whole = run("fit", data, "--target", "y", "--model", "batch", "--out", model, **limit)
    assert whole.returncode in (0, errors.DATA), whole.stderr  # how much fits depends on the libraries below
    assert "Traceback" not in whole.stderr
    assert run("fit", data, "--target", "y", "--model", "online", "--out", model, **limit).returncode == 0
    done = run("predict", model, data, "--out", tmp_path / "labels", **limit)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "labels").read_text().count("\n") == 600_001
