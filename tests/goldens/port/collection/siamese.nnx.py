"""JAX port of Siamese (port_collection/structured.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad import functional
from jaxgrad.nnx import Conv2d, Linear, PReLU

F = functional.at("2.13")


class Siamese(nnx.Module):
    """Siamese (port_collection/structured.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.margin = 1.0
        self.trunk = nnx.Sequential(
            Conv2d(1, 2, 3, rngs=rngs),
            PReLU(),
            lambda x: F.avg_pool2d(x, 2, stride=2),
            lambda x: x.reshape(x.shape[0], -1),
            Linear(8, 3, rngs=rngs),
        )

    def __call__(self, x1, x2, label):
        out1, out2 = self.forward_once(x1), self.forward_once(x2)
        distance = F.pairwise_distance(out1, out2)
        y = F.clamp(self.margin - distance, min=0.0) ** 2
        return ((1 - label) * distance**2 + label * y).mean()

    def forward_once(self, x):
        return F.normalize(self.trunk(x))
