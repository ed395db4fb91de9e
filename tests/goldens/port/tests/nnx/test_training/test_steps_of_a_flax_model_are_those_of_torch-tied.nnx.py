"""JAX port of Tied (nnx/test_training.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jaxgrad import functional
from jaxgrad import optim
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Tied(nnx.Module):
    """A module whose outputs are its loss, with one weight under two names.

    Tied (nnx/test_training.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.up = Linear(3, 3, rngs=rngs)
        self.down = Linear(3, 3, rngs=rngs)
        self.down.weight = self.up.weight  # tied

    def __call__(self, x, labels):
        return F.cross_entropy(self.down(jnp.tanh(self.up(x))), labels)


def loss_fn(model, x, labels):
    """Return the loss of a batch in train mode."""
    return model(x, labels)


OPTIMIZER = optim.sgd(lr=0.1, momentum=0.9)


def init_optimizer(model):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(nnx.to_pure_dict(nnx.state(model, nnx.Param)))


def train_step(model, opt_state, x, labels):
    """Make one step of torch's training loop, in its order: loss, gradients, SGD.

    The model is changed in place; `model.train()` comes before.
    """
    graph, params = nnx.split(model, nnx.Param)
    params = nnx.to_pure_dict(params)

    def loss_of(params):
        return loss_fn(nnx.merge(graph, params), x, labels)

    loss, grads = jaxgrad.value_and_grad(loss_of)(params)
    params, opt_state = OPTIMIZER.step(grads, opt_state, params)
    nnx.update(model, params)
    return opt_state, loss
