"""JAX port of Blurred (proof/test_proofs.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class Blurred(nnx.Module):
    """A loss without weights, whose filter is a plain attribute.

    Blurred (proof/test_proofs.py:0).
    """

    def __init__(self):
        self.window = nnx.Cache(
            jnp.array(
                [
                    [
                        [
                            [0.0, 0.02777777798473835, 0.0555555559694767],
                            [0.0833333358168602, 0.1111111119389534, 0.1388888955116272],
                            [0.1666666716337204, 0.1944444477558136, 0.2222222238779068],
                        ]
                    ]
                ],
                jnp.float32,
            )
        )

    def __call__(self, a, b):
        blurred = F.conv2d(a, self.window[...], padding=1)
        return jnp.square(blurred - F.conv2d(b, self.window[...], padding=1)).mean()
