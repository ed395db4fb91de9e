"""JAX port of Tied (nnx/test_training.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional
from jaxgrad import optim

F = functional.at("2.13")


def tied(p, x, labels):
    """A module whose outputs are its loss, with one weight under two names.

    Tied (nnx/test_training.py:0): x (N, 3), labels (N,) int -> ().
    """
    p = jax.tree.map(lambda x: x, p)
    p["down"]["weight"] = p["up"]["weight"]  # tied
    return F.cross_entropy(F.linear(jnp.tanh(F.linear(x, **p["up"])), **p["down"]), labels)


def loss_fn(params, x, labels):
    """Return the loss of a batch in train mode."""
    return tied(params, x, labels)


OPTIMIZER = optim.sgd(lr=0.1, momentum=0.9)


def init_optimizer(params):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(params)


def train_step(params, opt_state, x, labels):
    """Make one step of torch's training loop, in its order: loss, gradients, SGD."""
    loss, grads = jaxgrad.value_and_grad(loss_fn)(params, x, labels)
    params, opt_state = OPTIMIZER.step(grads, opt_state, params)
    return params, opt_state, loss
