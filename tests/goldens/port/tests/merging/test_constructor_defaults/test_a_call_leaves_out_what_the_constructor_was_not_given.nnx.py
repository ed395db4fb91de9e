"""JAX port of Net (merging/test_constructor_defaults.py), written by jaxgrad.port for torch 2.13.
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Net(nnx.Module):
    """Net (merging/test_constructor_defaults.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Unit(gain=1.5, power=2, rngs=rngs)
        self.second = Unit(gain=2.5, power=3, rngs=rngs)

    def __call__(self, x):
        return self.second(self.first(x))


class Unit(nnx.Module):
    """Unit (merging/test_constructor_defaults.py:0)."""

    def __init__(self, gain, power, *, rngs: nnx.Rngs):
        self.gain = gain
        self.power = power
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return self.gain * self.fc(x) ** self.power

# ---- the next port of this test ----
"""JAX port of Net (merging/test_constructor_defaults.py), written by jaxgrad.port for torch 2.13.
"""

from flax import nnx
from jaxgrad.nnx import Linear


class Net(nnx.Module):
    """Net (merging/test_constructor_defaults.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Unit(gain=1.5, power=2, rngs=rngs)
        self.second = Unit(gain=2.5, power=3, rngs=rngs)

    def __call__(self, x):
        return self.second(self.first(x))


class Unit(nnx.Module):
    """Unit (merging/test_constructor_defaults.py:0)."""

    def __init__(self, gain, power, *, rngs: nnx.Rngs):
        self.gain = gain
        self.power = power
        self.fc = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        return self.gain * self.fc(x) ** self.power
