"""The ports that `jaxgrad.port` writes, beside torch on the device where this suite runs."""

import contextlib
import dataclasses

import jax
import pytest
import torch

from parity_tests.audits.planted_bugs import names
from parity_tests.audits.port_collection import entries, example
from parity_tests.devices.written_ports import WrongDtype, draws, errors, written


DEVICE = jax.default_backend()
REFUSED = ("moe", "switch")  # modules that `port` refuses
SAMPLE = ("mlp", "peephole_lstm", "fno")  # on a CPU, `make port-collection` proves every module
ALL = [name for name in dict.fromkeys((*entries(), *names())) if name not in REFUSED]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SAMPLE if DEVICE == "cpu" else ALL)
def test_outputs_and_gradients_are_torchs_on_this_device(name):
    """Float64 results differ by rounding; float32 errors are at most eight times torch's.

    The bound in float64 is 1e-6, because torch keeps some constants in float32, such as the slope
    of hardsigmoid.
    """
    torch.manual_seed(0)
    module, inputs, _ = example(name)
    if draws(module, inputs):
        pytest.skip("draws random numbers in eval mode")
    ported = written(module, inputs)

    with contextlib.suppress(WrongDtype):
        for found in errors(module, ported, inputs, "float64", DEVICE):
            assert found.port <= 1e-6, f"{name} in float64: {found}"
    for found in errors(module, ported, inputs, "float32", DEVICE):
        assert found.port <= 8 * found.torch + 2e-6, f"{name} in float32: {found}"


def test_a_wrong_gradient_is_seen():
    """A port that does not stop a gradient has torch's outputs and other gradients."""
    torch.manual_seed(0)
    module, inputs, _ = example("mlp")
    ported = written(module, inputs)
    assert "lax.stop_gradient(x)" in ported.source
    wrong = dataclasses.replace(ported, source=ported.source.replace("lax.stop_gradient(x)", "x"))

    outputs, gradients = errors(module, wrong, inputs, "float64", DEVICE)

    assert outputs.port <= 1e-12 and gradients.port > 1e-3


def test_a_module_of_one_dtype_has_no_float64_results():
    """Of a module that converts to float32 inside, torch has no results in float64."""

    class Narrow(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 2)

        def forward(self, x):
            return self.linear(x.float())

    module, inputs = Narrow(), (torch.ones(3, 2),)
    ported = written(module, inputs)

    with pytest.raises(WrongDtype, match="dtype"):
        errors(module, ported, inputs, "float64", DEVICE)
