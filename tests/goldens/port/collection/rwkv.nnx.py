"""JAX port of TimeMixing (port_collection/recurrent.py), written by jaxgrad.port for torch 2.13.

Constants in the constructors are the values that the torch module had when this file was written;
  `jaxgrad.nnx.load_state_dict(model, state_dict)` loads others.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class TimeMixing(nnx.Module):
    """The recurrence of RWKV, with a token shift.

    TimeMixing (port_collection/recurrent.py:0).

    `jaxgrad.nnx.load_state_dict` sets `time_decay` and `time_mix`, which the constructor leaves
    as `jnp.empty`.

    JAX unrolls `for t in range(x.shape[1])`, so compile time grows with the number of
    iterations; use lax.scan for long inputs.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.time_decay = nnx.Param(jnp.empty(4, jnp.float32))
        self.time_first = nnx.Param(jnp.full(4, 0.3, jnp.float32))
        self.time_mix = nnx.Dict(
            {
                "k": nnx.Param(jnp.empty((1, 1, 4), jnp.float32)),
                "r": nnx.Param(jnp.empty((1, 1, 4), jnp.float32)),
                "v": nnx.Param(jnp.empty((1, 1, 4), jnp.float32)),
            }
        )
        self.key = Linear(4, 4, bias=False, rngs=rngs)
        self.value = Linear(4, 4, bias=False, rngs=rngs)
        self.receptance = Linear(4, 4, bias=False, rngs=rngs)
        self.output = Linear(4, 4, bias=False, rngs=rngs)

    def __call__(self, x):
        k, v = self.key(self.mix_3(x)), self.value(self.mix_2(x))
        r = jax.nn.sigmoid(self.receptance(self.mix(x)))
        w = jnp.exp(-jnp.exp(self.time_decay[...]))
        numerator = jnp.zeros_like(x[:, 0])
        denominator = jnp.zeros_like(x[:, 0])
        outputs = []
        for t in range(x.shape[1]):
            weight = jnp.exp(self.time_first[...] + k[:, t])
            outputs.append((numerator + weight * v[:, t]) / (denominator + weight))
            numerator = w * numerator + jnp.exp(k[:, t]) * v[:, t]
            denominator = w * denominator + jnp.exp(k[:, t])
        return self.output(r * jnp.stack(outputs, axis=1))

    def mix_3(self, x):
        ratio = self.time_mix["k"][...]
        return x * ratio + F.pad(x, (0, 0, 1, -1)) * (1 - ratio)

    def mix_2(self, x):
        ratio = self.time_mix["v"][...]
        return x * ratio + F.pad(x, (0, 0, 1, -1)) * (1 - ratio)

    def mix(self, x):
        ratio = self.time_mix["r"][...]
        return x * ratio + F.pad(x, (0, 0, 1, -1)) * (1 - ratio)
