"""JAX port of Net (training/test_steps.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional
from jaxgrad import optim

F = functional.at("2.13")


def net(p, x):
    """Net (training/test_steps.py:0): x (N, 3) -> (N, 2)."""
    return F.linear(jnp.tanh(F.linear(x, **p["inner"])), **p["outer"])


def loss_fn(params, x, target):
    """Return the loss of a batch in train mode."""
    return F.cross_entropy(net(params, x), target)


OPTIMIZER = optim.sgd(lr=0.1, momentum=0.9)


def init_optimizer(params):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(params)


def train_step(params, opt_state, x, target):
    """Make one step of torch's training loop, in its order: loss, gradients, SGD."""
    loss, grads = jaxgrad.value_and_grad(loss_fn)(params, x, target)
    params, opt_state = OPTIMIZER.step(grads, opt_state, params)
    return params, opt_state, loss
