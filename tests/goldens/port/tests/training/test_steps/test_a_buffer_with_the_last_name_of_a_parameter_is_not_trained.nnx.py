"""JAX port of Twice (training/test_steps.py), written by jaxgrad.port for torch 2.13.

Constants in the constructors are the values that the torch module had when this file was written;
  `jaxgrad.nnx.load_state_dict(model, state_dict)` loads others.
"""

import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jaxgrad import functional
from jaxgrad import optim

F = functional.at("2.13")


class Twice(nnx.Module):
    """A trained and an untrained leaf with the same last name.

    Twice (training/test_steps.py:0).
    """

    def __init__(self):
        self.freq = nnx.Param(jnp.ones(3, jnp.float32))
        self.inner = Linear()

    def __call__(self, x):
        x = F.linear(x * self.freq[...], self.inner.weight[...], self.inner.bias[...])
        return x * self.inner.freq[...]


class Linear(nnx.Module):
    """torch.nn.Linear.

    `jaxgrad.nnx.load_state_dict` sets `weight` and `bias`, which the constructor leaves as
    `jnp.empty`.
    """

    def __init__(self):
        self.weight = nnx.Param(jnp.empty((2, 3), jnp.float32))
        self.bias = nnx.Param(jnp.empty(2, jnp.float32))
        self.freq = nnx.BatchStat(jnp.full(2, 0.5, jnp.float32))


def loss_fn(model, x):
    """Return the loss of a batch in train mode."""
    return jnp.square(model(x)).mean()


OPTIMIZER = optim.sgd(lr=0.1)


def init_optimizer(model):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(nnx.to_pure_dict(nnx.state(model, nnx.Param)))


def train_step(model, opt_state, x):
    """Make one step of torch's training loop, in its order: loss, gradients, SGD.

    The model is changed in place; `model.train()` comes before.
    """
    graph, params, others = nnx.split(model, nnx.Param, ...)
    params = nnx.to_pure_dict(params)

    def loss_of(params):
        model = nnx.merge(graph, params, others, copy=True)
        return loss_fn(model, x), nnx.state(model, nnx.Not(nnx.Param))

    (loss, others), grads = jaxgrad.value_and_grad(loss_of, has_aux=True)(params)
    params, opt_state = OPTIMIZER.step(grads, opt_state, params)
    nnx.update(model, params, others)
    return opt_state, loss
