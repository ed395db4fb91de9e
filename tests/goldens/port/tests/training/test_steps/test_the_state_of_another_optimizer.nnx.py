"""JAX port of Net (training/test_steps.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jaxgrad import optim
from jaxgrad.nnx import Linear


class Net(nnx.Module):
    """Net (training/test_steps.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.inner = Linear(3, 4, rngs=rngs)
        self.outer = Linear(4, 2, rngs=rngs)

    def __call__(self, x):
        return self.outer(jnp.tanh(self.inner(x)))


def squared(y, labels):
    """squared (training/test_steps.py:0)."""
    return jnp.square(y[:, 0] - labels.astype(y.dtype)).mean()


def loss_fn(model, x, labels):
    """Return the loss of a batch in train mode."""
    return squared(model(x), labels)


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


def init_optimizer(model):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(nnx.to_pure_dict(nnx.state(model, nnx.Param)))


def train_step(model, opt_state, x, labels):
    """Make one step of torch's training loop, in its order: loss, gradients, AdamW, SequentialLR.

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
