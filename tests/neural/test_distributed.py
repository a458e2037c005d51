"""Two processes with `DistributedDataParallel` learn what one learns from both their batches."""

import os
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="needs the extra torch")

import torch.multiprocessing as mp  # noqa: E402

import steelyard.measures as m  # noqa: E402
from steelyard.neural import MeasureLoss  # noqa: E402

PROCESSES, STEPS, ROWS = 2, 12, 16
CASES = {
    "f1": {"measure": m.FBeta(1)},
    "cap": {"measure": m.Recall(), "subject_to": m.fpr <= 0.1},
    "letter": {"measure": m.QMeasure(), "guard": False},
}


def data():
    torch.manual_seed(1)
    X = torch.randn(STEPS, ROWS, 4, dtype=torch.double)
    return X, X[..., 0] + 0.5 * torch.randn(STEPS, ROWS, dtype=torch.double) > 0.8


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double()


def learn(net, loss, parts):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for X, y in parts:
        optimizer.zero_grad()
        loss(net(X), y).backward()
        optimizer.step()
    return torch.cat([p.detach().reshape(-1) for p in net.parameters()]), loss.duals.tally


def worker(rank, file, out):
    torch.distributed.init_process_group("gloo", init_method=f"file://{file}", rank=rank, world_size=PROCESSES)
    X, y = data()
    cut = slice(0, 5) if rank == 0 else slice(5, ROWS)  # batches of different sizes
    for name, settings in CASES.items():
        net = torch.nn.parallel.DistributedDataParallel(model())
        found = learn(net, MeasureLoss(**settings), [(a[cut], b[cut]) for a, b in zip(X, y, strict=True)])
        torch.save(found, f"{out}/{name}{rank}")
    torch.distributed.barrier()
    os._exit(0)  # what PyTorch would take down now was seen to wait for the other process, which had gone, for ever


@pytest.mark.slow  # two new processes, each of which imports PyTorch
@pytest.mark.skipif(sys.platform == "win32" or not torch.distributed.is_available(), reason="needs torch.distributed")
def test_two_processes_are_one(tmp_path, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    # The new processes have the path of this one, and import this file by the name that pytest gave it.
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    mp.spawn(worker, args=(str(tmp_path / "meeting"), str(tmp_path)), nprocs=PROCESSES)
    X, y = data()
    for name, settings in CASES.items():
        weights, tally = learn(model(), MeasureLoss(**settings), list(zip(X, y, strict=True)))
        for rank in range(PROCESSES):
            theirs, their_tally = torch.load(tmp_path / f"{name}{rank}")
            torch.testing.assert_close(theirs, weights, rtol=1e-9, atol=1e-11)
            torch.testing.assert_close(their_tally, tally)
