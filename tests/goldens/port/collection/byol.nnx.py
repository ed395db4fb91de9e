"""JAX port of BYOL (port_collection/structured.py), written by jaxgrad.port for torch 2.13."""

import jax
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import BatchNorm1d, Linear

F = functional.at("2.13")


class BYOL(nnx.Module):
    """A predictor of the outputs of a frozen copy, with a symmetric loss.

    BYOL (port_collection/structured.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.online = nnx.Sequential(
            Linear(4, 5, rngs=rngs), BatchNorm1d(5), jax.nn.relu, Linear(5, 3, rngs=rngs)
        )
        self.target = nnx.Sequential(
            Linear(4, 5, rngs=rngs), BatchNorm1d(5), jax.nn.relu, Linear(5, 3, rngs=rngs)
        )
        self.predictor = Linear(3, 3, rngs=rngs)

    def __call__(self, view1, view2):
        p1, p2 = [self.predictor(self.online(v)) for v in (view1, view2)]
        z1, z2 = lax.stop_gradient(self.target(view1)), lax.stop_gradient(self.target(view2))
        return self.loss(p1, z2) + self.loss(p2, z1)

    def loss(self, p_, z):
        return 2 - 2 * F.cosine_similarity(p_, lax.stop_gradient(z), dim=-1).mean()
