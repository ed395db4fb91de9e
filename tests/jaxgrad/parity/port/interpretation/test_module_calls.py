"""torch calls a module by the `__call__` that its class defines, and so does the port."""

import numpy as np
import pytest
from torch import nn

from tests.jaxgrad.parity.port._ports import agrees, proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Unit(nn.Module):
    """Has no `forward`, and torch runs no hooks of it."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def __call__(self, x):
        return self.fc(x).tanh()


class Doubled(nn.Linear):
    def __call__(self, x):  # pyright: ignore[reportIncompatibleMethodOverride]
        return super().__call__(x) * 2


@pytest.mark.sampled(2)
@pytest.mark.parametrize("module", [Unit(), nn.Sequential(Unit(), Doubled(4, 3))])
def test_a_call_of_its_own(module):
    assert proves(module, X)


def test_a_call_that_runs_forward_and_its_hooks():
    module = Doubled(4, 3)
    module.register_forward_hook(lambda module, args, output: output.sin())
    text = source(module, X)
    assert agrees(module, X) and "jnp.sin" in text and "* 2" in text
