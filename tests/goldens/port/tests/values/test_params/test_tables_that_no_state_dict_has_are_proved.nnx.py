"""JAX port of Tables (values/test_params.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Tables(nnx.Module):
    """It has tables in plain attributes, and a list of modules with a gap.

    Tables (values/test_params.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.table = nnx.Cache(
            jnp.array(
                [
                    [
                        0.10000000149011612,
                        0.20000000298023224,
                        0.30000001192092896,
                        0.4000000059604645,
                    ],
                    [0.5, 0.6000000238418579, 0.7000000476837158, 0.8000000715255737],
                    [0.9000000357627869, 1.0, 1.100000023841858, 1.2000000476837158],
                ],
                jnp.float32,
            )
        )
        self.turn = nnx.Cache(
            jnp.array(
                [
                    [(1+0j), (0.5403022766113281+0.8414709568023682j)],
                    [
                        (-0.416146844625473+0.9092974066734314j),
                        (-0.9899924993515015+0.14112000167369843j),
                    ],
                    [
                        (-0.6536436080932617-0.756802499294281j),
                        (0.28366219997406006-0.9589242935180664j),
                    ],
                ],
                jnp.complex64,
            )
        )
        self.mask = nnx.Cache(
            jnp.array(
                [[0.0, 0.0, -jnp.inf, -jnp.inf], [0.0, 0.0, 0.0, -jnp.inf], [0.0, 0.0, 0.0, 0.0]],
                jnp.float32,
            )
        )
        self.layers = nnx.List([Linear(4, 4, rngs=rngs) for _ in range(2)])

    def __call__(self, x):
        x = self.layers[2](self.layers[0](x)) + self.table[...]
        view_as_real = F.view_as_real(F.view_as_complex(x.reshape(3, 2, 2)) * self.turn[...])
        x = view_as_real.reshape(view_as_real.shape[0], -1)
        return jax.nn.softmax(x + self.mask[...], axis=-1)
