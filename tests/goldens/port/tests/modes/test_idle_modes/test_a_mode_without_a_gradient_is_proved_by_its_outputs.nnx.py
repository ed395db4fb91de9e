"""JAX port of Quantizer (modes/test_idle_modes.py), written by jaxgrad.port for torch 2.13.

No gradient passes through the module in eval mode, in torch too, so the proof of this mode compares
  the outputs alone.
"""

import jax.numpy as jnp
from flax import nnx
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


class Quantizer(nnx.Module):
    """Codes are learned in train mode, and looked up in eval mode.

    Quantizer (modes/test_idle_modes.py:0).

    `jaxgrad.nnx.load_state_dict` sets `codes`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self):
        self.codes = nnx.Param(jnp.empty((5, 4), jnp.float32))
        self.deterministic = False

    def __call__(self, x):
        places = F.cdist(x, self.codes[...]).argmin(axis=-1)
        found = self.codes[...][places]
        if not self.deterministic:
            return found * 2
        return lax.stop_gradient(found) * 3
