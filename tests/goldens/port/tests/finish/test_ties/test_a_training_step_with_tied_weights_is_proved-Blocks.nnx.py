"""JAX port of Blocks (finish/test_ties.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jaxgrad import functional
from jaxgrad import optim
from jaxgrad.nnx import BatchNorm1d, Linear

F = functional.at("2.13")


class Blocks(nnx.Module):
    """A weight that the first layer shares with each block of a list, beside untied parameters.

    Blocks (finish/test_ties.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.first = Linear(3, 3, rngs=rngs)
        self.blocks = nnx.List([Block(rngs=rngs) for _ in range(2)])
        self.blocks[0].fc.weight = self.first.weight  # tied
        self.blocks[1].fc.weight = self.first.weight  # tied

    def __call__(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = block(x)
        return x


class Block(nnx.Module):
    """Block (finish/test_ties.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.fc = Linear(3, 3, rngs=rngs)
        self.norm = BatchNorm1d(3)

    def __call__(self, x):
        return self.norm(jnp.tanh(self.fc(x)))


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
    graph, params, others = nnx.split(model, nnx.Param, ...)
    params = nnx.to_pure_dict(params)

    def loss_of(params):
        model = nnx.merge(graph, params, others, copy=True)
        return loss_fn(model, x, target), nnx.state(model, nnx.Not(nnx.Param))

    (loss, others), grads = jaxgrad.value_and_grad(loss_of, has_aux=True)(params)
    params, opt_state = OPTIMIZER.step(grads, opt_state, params)
    nnx.update(model, params, others)
    return opt_state, loss
