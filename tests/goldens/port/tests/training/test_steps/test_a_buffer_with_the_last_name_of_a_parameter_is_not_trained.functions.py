"""JAX port of Twice (training/test_steps.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: inner/freq.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional
from jaxgrad import optim

F = functional.at("2.13")


def twice(p, x):
    """A trained and an untrained leaf with the same last name.

    Twice (training/test_steps.py:0): x (N, 3) -> (N, 2).
    """
    return F.linear(x * p["freq"], p["inner"]["weight"], p["inner"]["bias"]) * p["inner"]["freq"]


def loss_fn(params, x):
    """Return the loss of a batch in train mode."""
    return jnp.square(twice(params, x)).mean()


def is_trained(name, _):
    """Return whether torch's optimizer trains a leaf."""
    return name != "inner/freq"


OPTIMIZER = optim.sgd(lr=0.1)


def init_optimizer(params):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(jaxgrad.partition(params, is_trained)[0])


def train_step(params, opt_state, x):
    """Make one step of torch's training loop, in its order: loss, gradients, SGD."""
    trained, others = jaxgrad.partition(params, is_trained)

    def loss_of(trained):
        return loss_fn(jaxgrad.combine(trained, others), x)

    loss, grads = jaxgrad.value_and_grad(loss_of)(trained)
    trained, opt_state = OPTIMIZER.step(grads, opt_state, trained)
    params = jaxgrad.combine(trained, others)
    return params, opt_state, loss
