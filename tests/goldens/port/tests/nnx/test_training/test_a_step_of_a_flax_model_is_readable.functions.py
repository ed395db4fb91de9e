"""JAX port of Net (nnx/test_training.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: body/1/running_mean, body/1/running_var,
  body/1/num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
import jaxgrad
from jax import lax
from jaxgrad import functional
from jaxgrad import optim

F = functional.at("2.13")


def net(p, x, *, training=False):
    """Parts in a Sequential, a frozen layer, running statistics and a parameter without use.

    Net (nnx/test_training.py:0): x (N, 3) -> (N, 2), updated p.
    """
    p = dict(p)
    x, p["body"] = body(p["body"], F.linear(x, **p["trunk"]), training=training)
    x = F.linear(x, **p["head"]) + lax.stop_gradient(p["shift"])
    return x, p


def body(p, x, *, training):
    """Net.body (nnx/test_training.py:0): x (N, 4) -> (N, 4), updated p."""
    p = list(p)
    x = F.linear(x, **p[0])
    x, p[1] = batch_norm1d(p[1], x, training=training)
    return jnp.tanh(x), p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 4) -> (N, 4), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p


def smoothed(logits, labels):
    """smoothed (nnx/test_training.py:0)."""
    return F.cross_entropy(logits, labels, label_smoothing=0.1).reshape(1)


def loss_fn(params, x, labels):
    """Return the loss of a batch in train mode, and the new params."""
    outputs, params = net(params, x, training=True)
    return smoothed(outputs, labels), params


def is_trained(name, _):
    """Return whether torch's optimizer trains a leaf."""
    return name.startswith("head/") or name in (
        "shift", "body/0/weight", "body/1/weight", "body/1/bias"
    )


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


def init_optimizer(params):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(jaxgrad.partition(params, is_trained)[0])


def train_step(params, opt_state, x, labels):
    """Make one step of torch's training loop, in its order: loss, gradients, clipping, AdamW,
    SequentialLR.
    """
    trained, others = jaxgrad.partition(params, is_trained)

    def loss_of(trained):
        return loss_fn(jaxgrad.combine(trained, others), x, labels)

    (loss, params), grads = jaxgrad.value_and_grad(loss_of, has_aux=True)(trained)
    grads, _ = jaxgrad.clip_grad_norm(grads, 0.05)
    trained, opt_state = OPTIMIZER.step(grads, opt_state, trained)
    _, others = jaxgrad.partition(params, is_trained)
    params = jaxgrad.combine(trained, others)
    return params, opt_state, loss

# ---- the next port of this test ----
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
