"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jaxgrad
from jaxgrad import functional
from jaxgrad import optim

F = functional.at("2.13")


def sequential(p, x, *, rng=None, training=False):
    """torch.nn.Sequential: x (N, 3) -> (N, 2)."""
    x = F.linear(x, **p[0])
    x = F.dropout(x, p=0.5, training=training, key=rng)
    return F.linear(x, **p[2])


def loss_fn(params, x, target, rng):
    """Return the loss of a batch in train mode."""
    return F.cross_entropy(sequential(params, x, rng=rng, training=True), target)


OPTIMIZER = optim.sgd(lr=0.0)


def init_optimizer(params):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(params)


def train_step(params, opt_state, x, target, rng):
    """Make one step of torch's training loop, in its order: loss, gradients, SGD."""
    loss, grads = jaxgrad.value_and_grad(loss_fn)(params, x, target, rng)
    params, opt_state = OPTIMIZER.step(grads, opt_state, params)
    return params, opt_state, loss
