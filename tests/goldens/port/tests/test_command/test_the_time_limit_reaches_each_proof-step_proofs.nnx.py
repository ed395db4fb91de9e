"""JAX port of Linear (torch.nn.modules.linear), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jaxgrad import functional
from jaxgrad import optim

F = functional.at("2.13")


class Linear(nnx.Module):
    """torch.nn.Linear.

    `jaxgrad.nnx.load_state_dict` sets `weight` and `bias`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self):
        self.weight = nnx.Param(jnp.empty((1, 3), jnp.float32))
        self.bias = nnx.Param(jnp.empty(1, jnp.float32))

    def __call__(self, x):
        return F.linear(x, self.weight[...], self.bias[...])


def loss_fn(model, x, target):
    """Return the loss of a batch in train mode."""
    return F.mse_loss(model(x), target)


OPTIMIZER = optim.sgd(lr=0.1)


def init_optimizer(model):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(nnx.to_pure_dict(nnx.state(model, nnx.Param)))


def train_step(model, opt_state, x, target):
    """Make one step of torch's training loop, in its order: loss, gradients, SGD.

    The model is changed in place; `model.train()` comes before.
    """
    graph, params = nnx.split(model, nnx.Param)
    params = nnx.to_pure_dict(params)

    def loss_of(params):
        return loss_fn(nnx.merge(graph, params), x, target)

    loss, grads = jaxgrad.value_and_grad(loss_of)(params)
    params, opt_state = OPTIMIZER.step(grads, opt_state, params)
    nnx.update(model, params)
    return opt_state, loss
