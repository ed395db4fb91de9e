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

# ---- the next port of this test ----
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


def squared(y, labels):
    """squared (training/test_steps.py:0)."""
    return jnp.square(y[:, 0] - labels.astype(y.dtype)).mean()


def loss_fn(params, x, labels):
    """Return the loss of a batch in train mode."""
    return squared(net(params, x), labels)


def group_of(name):
    """Return the parameter group of a leaf."""
    if name.split("/")[-1] == "bias":
        return 1
    return 0


def schedule(lr):
    """Return the schedule of a parameter group from its initial learning rate."""
    return optim.lr_scheduler.sequential_lr(
        lr,
        [
            optim.lr_scheduler.linear_lr(lr, start_factor=0.1, total_iters=2),
            optim.lr_scheduler.step_lr(lr, step_size=2),
        ],
        [2],
    )


OPTIMIZER = optim.param_groups(
    optim.adamw,
    [{"lr": schedule(0.01)}, {"lr": schedule(0.02), "weight_decay": 0.0}],
    group_of,
    betas=(0.9, 0.95),
)


def init_optimizer(params):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(params)


def train_step(params, opt_state, x, labels):
    """Make one step of torch's training loop, in its order: loss, gradients, AdamW, SequentialLR.
    """
    loss, grads = jaxgrad.value_and_grad(loss_fn)(params, x, labels)
    params, opt_state = OPTIMIZER.step(grads, opt_state, params)
    return params, opt_state, loss
