"""A measure of tensors is the measure of arrays: the same tree, value and gradient, and autograd sees through it."""

import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs the extra torch")
sys.path.insert(0, str(Path(__file__).parent.parent / "measures"))

import zoo  # noqa: E402
from contracts import SAMPLE_SIZE, sample  # noqa: E402

import steelyard.measures as m  # noqa: E402

MEASURES = [*zoo.NAMED, *zoo.PARAMETERS, *zoo.ATOMS]


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_tensors_give_what_arrays_give(measure):
    tpr, tnr, p = sample(n=300)
    size = {"sample_size": SAMPLE_SIZE}
    tensors = [torch.from_numpy(x) for x in (tpr, tnr, p)]
    # Powers and logarithms of the two libraries may differ in the last digit.
    close = {"rtol": 1e-12, "atol": 1e-13, "equal_nan": True}
    np.testing.assert_allclose(measure(*tensors, **size).numpy(), measure(tpr, tnr, p, **size), **close)
    for ours, theirs in zip(measure.gradient(*tensors, **size), measure.gradient(tpr, tnr, p, **size), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs, **close)


@pytest.mark.parametrize("measure", [cls() for cls in m.NAMED], ids=repr)
def test_autograd_finds_the_gradient(measure):
    tpr, tnr, p = (torch.from_numpy(0.05 + 0.9 * x) for x in sample(edge=0.0, n=50))
    tpr.requires_grad_(), tnr.requires_grad_()
    value = measure(tpr, tnr, p, sample_size=SAMPLE_SIZE)
    found = torch.autograd.grad(value.sum(), (tpr, tnr), allow_unused=True)
    for ours, theirs in zip(found, measure.gradient(tpr, tnr, p, sample_size=SAMPLE_SIZE), strict=True):
        ours = torch.zeros_like(theirs) if ours is None else ours
        torch.testing.assert_close(ours, theirs.detach(), rtol=1e-9, atol=1e-10)


def test_a_number_among_tensors_broadcasts():
    tpr = torch.tensor([0.2, 0.8])
    assert m.FBeta(1)(tpr, 0.9, 0.1).shape == (2,)
    assert m.Accuracy()(tpr, torch.tensor(0.5), torch.tensor(0.25)).dtype == torch.float32
    assert (m.tpr * 0 + 1)(tpr, tpr).tolist() == [1.0, 1.0]


def test_the_prevalence_must_be_given():
    with pytest.raises(ValueError, match="prevalence"):
        m.FBeta(1)(torch.tensor(0.5), torch.tensor(0.5))
