"""JAX port of Linear (torch.nn.modules.linear), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jaxgrad
from jaxgrad import functional
from jaxgrad import optim

F = functional.at("2.13")


def linear(p, x):
    """torch.nn.Linear: x (N, 3) -> (N, 1)."""
    return F.linear(x, **p)


def loss_fn(params, x, target):
    """Return the loss of a batch in train mode."""
    return F.mse_loss(linear(params, x), target)


OPTIMIZER = optim.sgd(lr=0.1)


def init_optimizer(params):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(params)


def train_step(params, opt_state, x, target):
    """Make one step of torch's training loop, in its order: loss, gradients, SGD."""
    loss, grads = jaxgrad.value_and_grad(loss_fn)(params, x, target)
    params, opt_state = OPTIMIZER.step(grads, opt_state, params)
    return params, opt_state, loss
