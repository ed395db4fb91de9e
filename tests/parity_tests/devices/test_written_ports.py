"""The ports that `jaxgrad.port` writes, beside torch on the device where this suite runs."""

import contextlib

import jax
import pytest
import torch

from parity_tests.audits.planted_bugs import names
from parity_tests.audits.port_collection import entries, example
from parity_tests.devices.written_ports import WrongDtype, draws, errors, written


DEVICE = jax.default_backend()
REFUSED = ("moe", "switch")  # `port` refuses them: they select tokens by an index of unknown length
SAMPLE = ("mlp", "gru", "t5", "unet")  # on a CPU the collection is proved by other tests
ALL = [n for n in dict.fromkeys((*entries(), *names())) if n not in REFUSED]


@pytest.mark.parametrize("name", ALL)
def test_outputs_and_gradients_are_torchs_on_this_device(name):
    """In float64 to rounding; in float32 as near to float64 as torch's, within a factor."""
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
