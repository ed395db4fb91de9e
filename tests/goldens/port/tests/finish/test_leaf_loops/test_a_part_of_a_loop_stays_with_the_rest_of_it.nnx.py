"""JAX port of State (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jax import lax
from jaxgrad.nnx import BatchNorm1d, Linear


class State(nnx.Module):
    """All tensors of a state_dict follow.

    State (finish/test_tree_maps.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.online = nnx.Sequential(
            Linear(4, 5, rngs=rngs), BatchNorm1d(5), Linear(5, 3, rngs=rngs)
        )
        self.target = nnx.Sequential(
            Linear(4, 5, rngs=rngs), BatchNorm1d(5), Linear(5, 3, rngs=rngs)
        )

    def __call__(self, x):
        self.update()
        return (self.online(x) + self.target(x)) ** 2

    def update(self):
        update(self)


def update(module):
    """update (finish/test_leaf_loops.py:0)."""
    online = {
        "0.weight": lax.stop_gradient(module.online.layers[0].weight[...]),
        "0.bias": lax.stop_gradient(module.online.layers[0].bias[...]),
        "1.weight": lax.stop_gradient(module.online.layers[1].weight[...]),
        "1.bias": lax.stop_gradient(module.online.layers[1].bias[...]),
        "1.running_mean": module.online.layers[1].running_mean[...],
        "1.running_var": module.online.layers[1].running_var[...],
        "1.num_batches_tracked": module.online.layers[1].num_batches_tracked[...],
        "2.weight": lax.stop_gradient(module.online.layers[2].weight[...]),
        "2.bias": lax.stop_gradient(module.online.layers[2].bias[...]),
    }
    k = module.target.layers[0].weight[...]
    k = 0.5 * (k + online["0.weight"])
    module.target.layers[0].weight[...] = lax.stop_gradient(k)
    k = module.target.layers[0].bias[...]
    k = 0.5 * (k + online["0.bias"])
    module.target.layers[0].bias[...] = lax.stop_gradient(k)
    k = module.target.layers[1].weight[...]
    k = 0.5 * (k + online["1.weight"])
    module.target.layers[1].weight[...] = lax.stop_gradient(k)
    k = module.target.layers[1].bias[...]
    k = 0.5 * (k + online["1.bias"])
    module.target.layers[1].bias[...] = lax.stop_gradient(k)
    k = module.target.layers[1].running_mean[...]
    k = 0.5 * (k + online["1.running_mean"])
    module.target.layers[1].running_mean[...] = lax.stop_gradient(k)
    k = module.target.layers[1].running_var[...]
    k = 0.5 * (k + online["1.running_var"])
    module.target.layers[1].running_var[...] = lax.stop_gradient(k)
    k = module.target.layers[1].num_batches_tracked[...]
    k = (0.5 * (k + online["1.num_batches_tracked"])).astype(k.dtype)
    module.target.layers[1].num_batches_tracked[...] = k
    k = module.target.layers[2].weight[...]
    k = 0.5 * (k + online["2.weight"])
    module.target.layers[2].weight[...] = lax.stop_gradient(k)
    k = module.target.layers[2].bias[...]
    k = 0.5 * (k + online["2.bias"])
    module.target.layers[2].bias[...] = lax.stop_gradient(k)

# ---- the next port of this test ----
"""JAX port of State (finish/test_leaf_loops.py), written by jaxgrad.port for torch 2.13.

Differences from torch by design:
- torch raises if a saved value was changed in place; here the gradient uses that value.
"""

from flax import nnx
from jax import lax
from jaxgrad.nnx import BatchNorm1d, Linear


class State(nnx.Module):
    """All tensors of a state_dict follow.

    State (finish/test_tree_maps.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.online = nnx.Sequential(
            Linear(4, 5, rngs=rngs), BatchNorm1d(5), Linear(5, 3, rngs=rngs)
        )
        self.target = nnx.Sequential(
            Linear(4, 5, rngs=rngs), BatchNorm1d(5), Linear(5, 3, rngs=rngs)
        )

    def __call__(self, x):
        self.update()
        return (self.online(x) + self.target(x)) ** 2

    def update(self):
        update(self)


def update(module):
    """update (finish/test_leaf_loops.py:0)."""
    online = {
        "0.weight": lax.stop_gradient(module.online.layers[0].weight[...]),
        "0.bias": lax.stop_gradient(module.online.layers[0].bias[...]),
        "1.weight": lax.stop_gradient(module.online.layers[1].weight[...]),
        "1.bias": lax.stop_gradient(module.online.layers[1].bias[...]),
        "1.running_mean": module.online.layers[1].running_mean[...],
        "1.running_var": module.online.layers[1].running_var[...],
        "1.num_batches_tracked": module.online.layers[1].num_batches_tracked[...],
        "2.weight": lax.stop_gradient(module.online.layers[2].weight[...]),
        "2.bias": lax.stop_gradient(module.online.layers[2].bias[...]),
    }
    k = module.target.layers[0].weight[...]
    k = 0.5 * (k + online["0.weight"])
    module.target.layers[0].weight[...] = lax.stop_gradient(k)
    k = module.target.layers[0].bias[...]
    k = 0.5 * (k + online["0.bias"])
    module.target.layers[0].bias[...] = lax.stop_gradient(k)
    k = module.target.layers[1].weight[...]
    k = 0.5 * (k + online["1.weight"])
    module.target.layers[1].weight[...] = lax.stop_gradient(k)
    k = module.target.layers[1].bias[...]
    k = 0.5 * (k + online["1.bias"])
    module.target.layers[1].bias[...] = lax.stop_gradient(k)
    k = module.target.layers[1].running_mean[...]
    k = 0.5 * (k + online["1.running_mean"])
    module.target.layers[1].running_mean[...] = lax.stop_gradient(k)
    k = module.target.layers[1].running_var[...]
    k = 0.5 * (k + online["1.running_var"])
    module.target.layers[1].running_var[...] = lax.stop_gradient(k)
    k = module.target.layers[1].num_batches_tracked[...]
    k = (0.5 * (k + online["1.num_batches_tracked"])).astype(k.dtype)
    module.target.layers[1].num_batches_tracked[...] = k
    k = module.target.layers[2].weight[...]
    k = 0.5 * (k + online["2.weight"])
    module.target.layers[2].weight[...] = lax.stop_gradient(k)
    k = module.target.layers[2].bias[...]
    k = 0.5 * (k + online["2.bias"])
    module.target.layers[2].bias[...] = lax.stop_gradient(k)
