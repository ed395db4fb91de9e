"""JAX port of Net (nnx/test_training.py), written by jaxgrad.port for torch 2.13."""

import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jax import lax
from jaxgrad import functional
from jaxgrad import optim
from jaxgrad.nnx import BatchNorm1d, Linear

F = functional.at("2.13")


class Net(nnx.Module):
    """Parts in a Sequential, a frozen layer, running statistics and a parameter without use.

    Net (nnx/test_training.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.shift = nnx.Param(jnp.ones(2, jnp.float32))
        self.trunk = Linear(3, 4, rngs=rngs)
        self.body = nnx.Sequential(Linear(4, 4, bias=False, rngs=rngs), BatchNorm1d(4), jnp.tanh)
        self.head = Linear(4, 2, rngs=rngs)
        self.left_over = Linear(2, 2, rngs=rngs)

    def __call__(self, x):
        return self.head(self.body(self.trunk(x))) + lax.stop_gradient(self.shift[...])


def smoothed(logits, labels):
    """smoothed (nnx/test_training.py:0)."""
    return F.cross_entropy(logits, labels, label_smoothing=0.1).reshape(1)


def loss_fn(model, x, labels):
    """Return the loss of a batch in train mode."""
    return smoothed(model(x), labels)


def is_trained(path, _):
    """Return whether torch's optimizer trains a parameter."""
    name = "/".join(map(str, path))
    return not name.startswith("trunk/")


TRAINED = nnx.All(nnx.Param, is_trained)


OPTIMIZER = optim.adamw(
    lr=optim.lr_scheduler.sequential_lr(
        0.01,
        [
            optim.lr_scheduler.linear_lr(0.01, start_factor=0.1, total_iters=2),
            optim.lr_scheduler.step_lr(0.01, step_size=2),
        ],
        [2],
    ),
    weight_decay=0.1,
)


def init_optimizer(model):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(nnx.to_pure_dict(nnx.state(model, TRAINED)))


def train_step(model, opt_state, x, labels):
    """Make one step of torch's training loop, in its order: loss, gradients, clipping, AdamW,
    SequentialLR.

    The model is changed in place; `model.train()` comes before.
    """
    graph, params, others = nnx.split(model, TRAINED, ...)
    params = nnx.to_pure_dict(params)

    def loss_of(params):
        model = nnx.merge(graph, params, others, copy=True)
        return loss_fn(model, x, labels), nnx.state(model, nnx.Not(TRAINED))

    (loss, others), grads = jaxgrad.value_and_grad(loss_of, has_aux=True)(params)
    grads, _ = jaxgrad.clip_grad_norm(grads, 0.05)
    params, opt_state = OPTIMIZER.step(grads, opt_state, params)
    nnx.update(model, params, others)
    return opt_state, loss
