"""JAX port of Stopped (training/test_steps.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jax import lax
from jaxgrad import optim
from jaxgrad.nnx import Linear


class Stopped(nnx.Module):
    """Stopped (training/test_steps.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.shift = nnx.Param(jnp.ones(2, jnp.float32))
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.forward(x) + lax.stop_gradient(self.shift[...])

    def forward(self, x):
        return self.outer(jnp.tanh(self.inner(x)))


def squared(y, labels):
    """squared (training/test_steps.py:0)."""
    return jnp.square(y[:, 0] - labels.astype(y.dtype)).mean()


def loss_fn(model, x, labels):
    """Return the loss of a batch in train mode."""
    return squared(model(x), labels)


OPTIMIZER = optim.adamw(lr=0.01)


def init_optimizer(model):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(nnx.to_pure_dict(nnx.state(model, nnx.Param)))


def train_step(model, opt_state, x, labels):
    """Make one step of torch's training loop, in its order: loss, gradients, AdamW.

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
