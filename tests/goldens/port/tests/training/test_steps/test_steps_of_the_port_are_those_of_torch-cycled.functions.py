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


SCHEDULE = optim.lr_scheduler.one_cycle_lr(0.01, max_lr=0.1, total_steps=9)


SCHEDULE_2 = optim.lr_scheduler.one_cycle_lr(0.02, max_lr=0.2, total_steps=9)


OPTIMIZER = optim.param_groups(
    optim.adamw,
    [
        {"lr": SCHEDULE, "betas": (SCHEDULE.momentum, 0.95)},
        {"lr": SCHEDULE_2, "betas": (SCHEDULE_2.momentum, 0.95), "weight_decay": 0.0},
    ],
    group_of,
)


def init_optimizer(params):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(params)


def train_step(params, opt_state, x, labels):
    """Make one step of torch's training loop, in its order: loss, gradients, AdamW, OneCycleLR."""
    loss, grads = jaxgrad.value_and_grad(loss_fn)(params, x, labels)
    params, opt_state = OPTIMIZER.step(grads, opt_state, params)
    return params, opt_state, loss
