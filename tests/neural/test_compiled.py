"""`torch.compile` gives the same numbers, in the backward pass too: the state is kept outside of what is compiled."""

import pytest

torch = pytest.importorskip("torch", reason="needs the extra torch")

import steelyard.measures as m  # noqa: E402
from steelyard.neural import MeasureLoss  # noqa: E402

CASES = [
    {"measure": m.FBeta(1)},
    {"measure": m.Recall(), "subject_to": m.fpr <= 0.1 * m.tpr},
    {"measure": m.QMeasure(), "guard": False},
]


def same_numbers(settings, backend, device="cpu"):
    torch._dynamo.reset()
    torch.manual_seed(0)
    plain, inner = (MeasureLoss(**settings).to(device) for _ in range(2))
    kind = torch.double if device == "cpu" else torch.float  # which the kernel of a GPU takes
    compiled = torch.compile(inner, backend=backend)
    for _ in range(6):
        s, y = torch.randn(64, dtype=kind).to(device), (torch.rand(64) < 0.3).to(device)
        ours, theirs = s.clone().requires_grad_(), s.clone().requires_grad_()
        first, second = plain(ours, y), compiled(theirs, y)
        first.backward(), second.backward()
        torch.testing.assert_close(first, second)
        torch.testing.assert_close(ours.grad, theirs.grad)
    for name, value in plain.state_dict().items():
        torch.testing.assert_close(value, inner.state_dict()[name])


@pytest.mark.parametrize("settings", CASES, ids=str)
def test_compiled_it_has_the_same_numbers(settings):
    same_numbers(settings, "eager")


@pytest.mark.slow
@pytest.mark.parametrize("settings", CASES, ids=str)
def test_compiled_to_machine_code(settings):
    same_numbers(settings, "inductor")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("backend", ["eager", "inductor"])
@pytest.mark.parametrize("settings", CASES, ids=str)
def test_compiled_on_a_gpu(settings, backend):
    same_numbers(settings, backend, "cuda")
