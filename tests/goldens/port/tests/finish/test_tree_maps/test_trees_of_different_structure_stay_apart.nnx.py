"""JAX port of Unlike (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import BatchNorm1d, Linear

F = functional.at("2.13")


class Unlike(nnx.Module):
    """The trees differ: the target is not called, and holds nothing but its parameters.

    Unlike (finish/test_tree_maps.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.online = nnx.Sequential(
            Linear(4, 5, rngs=rngs), BatchNorm1d(5), Linear(5, 3, rngs=rngs)
        )
        self.target = nnx.List([Linear(4, 5, rngs=rngs), BatchNorm1d(5), Linear(5, 3, rngs=rngs)])

    def __call__(self, x):
        self.update()
        return self.online(x) + sum(
            [
                k.sum() for k in [
                    self.target[0].weight[...],
                    self.target[0].bias[...],
                    self.target[1].weight[...],
                    self.target[1].bias[...],
                    self.target[2].weight[...],
                    self.target[2].bias[...],
                ]
            ]
        )

    def update(self):
        update(self)


def update(module, *, momentum=0.9):
    """update (finish/test_tree_maps.py:0)."""
    k = module.target[0].weight[...]
    k = k * momentum
    k = F.add(k, module.online.layers[0].weight[...], alpha=1 - momentum)
    module.target[0].weight[...] = lax.stop_gradient(k)
    k = module.target[0].bias[...]
    k = k * momentum
    k = F.add(k, module.online.layers[0].bias[...], alpha=1 - momentum)
    module.target[0].bias[...] = lax.stop_gradient(k)
    k = module.target[1].weight[...]
    k = k * momentum
    k = F.add(k, module.online.layers[1].weight[...], alpha=1 - momentum)
    module.target[1].weight[...] = lax.stop_gradient(k)
    k = module.target[1].bias[...]
    k = k * momentum
    k = F.add(k, module.online.layers[1].bias[...], alpha=1 - momentum)
    module.target[1].bias[...] = lax.stop_gradient(k)
    k = module.target[2].weight[...]
    k = k * momentum
    k = F.add(k, module.online.layers[2].weight[...], alpha=1 - momentum)
    module.target[2].weight[...] = lax.stop_gradient(k)
    k = module.target[2].bias[...]
    k = k * momentum
    k = F.add(k, module.online.layers[2].bias[...], alpha=1 - momentum)
    module.target[2].bias[...] = lax.stop_gradient(k)

# ---- the next port of this test ----
"""JAX port of Unlike (finish/test_tree_maps.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad.nnx import BatchNorm1d, Linear

F = functional.at("2.13")


class Unlike(nnx.Module):
    """The trees differ: the target is not called, and holds nothing but its parameters.

    Unlike (finish/test_tree_maps.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.online = nnx.Sequential(
            Linear(4, 5, rngs=rngs), BatchNorm1d(5), Linear(5, 3, rngs=rngs)
        )
        self.target = nnx.List([Linear(4, 5, rngs=rngs), BatchNorm1d(5), Linear(5, 3, rngs=rngs)])

    def __call__(self, x):
        self.update()
        return self.online(x) + sum(
            [
                k.sum() for k in [
                    self.target[0].weight[...],
                    self.target[0].bias[...],
                    self.target[1].weight[...],
                    self.target[1].bias[...],
                    self.target[2].weight[...],
                    self.target[2].bias[...],
                ]
            ]
        )

    def update(self):
        update(self)


def update(module, *, momentum=0.9):
    """update (finish/test_tree_maps.py:0)."""
    k = module.target[0].weight[...]
    k = k * momentum
    k = F.add(k, module.online.layers[0].weight[...], alpha=1 - momentum)
    module.target[0].weight[...] = lax.stop_gradient(k)
    k = module.target[0].bias[...]
    k = k * momentum
    k = F.add(k, module.online.layers[0].bias[...], alpha=1 - momentum)
    module.target[0].bias[...] = lax.stop_gradient(k)
    k = module.target[1].weight[...]
    k = k * momentum
    k = F.add(k, module.online.layers[1].weight[...], alpha=1 - momentum)
    module.target[1].weight[...] = lax.stop_gradient(k)
    k = module.target[1].bias[...]
    k = k * momentum
    k = F.add(k, module.online.layers[1].bias[...], alpha=1 - momentum)
    module.target[1].bias[...] = lax.stop_gradient(k)
    k = module.target[2].weight[...]
    k = k * momentum
    k = F.add(k, module.online.layers[2].weight[...], alpha=1 - momentum)
    module.target[2].weight[...] = lax.stop_gradient(k)
    k = module.target[2].bias[...]
    k = k * momentum
    k = F.add(k, module.online.layers[2].bias[...], alpha=1 - momentum)
    module.target[2].bias[...] = lax.stop_gradient(k)
