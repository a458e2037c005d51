"""A step on a GPU in fused kernels is the step of tensors. Where there is no GPU the kernels are interpreted, if Triton
is there to do it."""

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="needs the extra torch")
pytest.importorskip("triton", reason="needs Triton")

CODE = """
import torch
import steelyard.measures as m
from steelyard.neural import MeasureLoss, fused
from steelyard.neural.duals import Duals

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
as_it_is = fused.suits
if DEVICE == "cpu":  # the kernels are interpreted: let them have these tensors
    as_it_is = lambda duals, scores, weights, reward: len(scores) > 0
    torch.cuda.device_of = lambda x: torch.no_grad()
    Duals.reads_numbers = lambda self: False
CASES = [
    (m.FBeta(1), {}), (m.BAKLD(), {}), (m.NegKLD(), {"prevalence": 0.3}),
    (m.Recall(), {"subject_to": m.fpr <= 0.1}), (m.Specificity(), {"subject_to": m.tpr >= 0.7}),
    (m.Recall(), {"subject_to": m.fpr <= 0.1 * m.tpr, "prevalence": 0.3}), (m.GMean(), {"reward": "hinge"}),
    (m.QMeasure(), {"reward": "sigmoid", "width": 0.5}), (m.NSS(), {"reward": "ramp", "width": 2.0}),
    (m.CQReward(), {"reward": "erf"}), (m.BKReward(), {}), (m.minimum(m.tpr, m.tnr), {}),
]
for measure, settings in CASES:
    ours, theirs = (MeasureLoss(measure, **settings).to(DEVICE) for _ in range(2))
    torch.manual_seed(0)
    many = (65_536, 1_000_000, 65_536) if DEVICE == "cuda" else ()  # programs that end in any order
    for step, n in enumerate((1, 1, 700, 700, 2500, 3, 700, 40, 40, *many)):
        y = (torch.rand(n) < 0.3).to(DEVICE)
        s = (torch.randn(n).to(DEVICE) + y).requires_grad_()
        labels = y if step % 2 else y.float()
        if step == 6:
            ours.forget(0.1), theirs.forget(0.1)
        found = []
        for loss, suits in ((ours, as_it_is), (theirs, lambda *parts: False)):
            fused.suits = suits
            loss.train(step != 7)
            value = loss(s, labels)
            found.append((value, torch.autograd.grad(value, s)[0]))
        # In single precision: autograd's slope of a sigmoid has 1 - r where r is nearly 1.
        atol = 1e-9 if settings.get("reward", "logistic") in ("logistic", "hinge") else 1e-8
        for one, two in zip(*found):
            torch.testing.assert_close(one, two, rtol=2e-6, atol=atol, msg=lambda text: f"{measure} {settings}: {text}")
    for name, value in ours.state_dict().items():
        # figures that a kernel is given are in single precision
        torch.testing.assert_close(value, theirs.state_dict()[name], rtol=2e-7, atol=1e-12)
print("same")
"""


@pytest.mark.slow  # a new process: whether kernels are interpreted is settled when Triton is imported
def test_fused_steps_are_steps_of_tensors():
    there = {} if torch.cuda.is_available() else {"TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", CODE], env={**os.environ, **there}, capture_output=True, text=True)
    assert done.stdout.strip() == "same", done.stderr[-2000:]
