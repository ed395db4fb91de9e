"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: 1/running_mean, 1/running_var,
  1/num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jaxgrad
from jaxgrad import functional
from jaxgrad import optim

F = functional.at("2.13")


def sequential(p, x, *, training=False):
    """torch.nn.Sequential: x (N, 3) -> (N, 2), updated p."""
    p = list(p)
    x = F.linear(x, **p[0])
    x, p[1] = batch_norm1d(p[1], x, training=training)
    return x, p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 2) -> (N, 2), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p


def mean_square(y, target):
    """mean_square (test_the_whole_schedule_is_com0/mymodel.py:0)."""
    return ((y - target) ** 2).mean()


def loss_fn(params, x, target):
    """Return the loss of a batch in train mode, and the new params."""
    outputs, params = sequential(params, x, training=True)
    return mean_square(outputs, target), params


def is_trained(name, _):
    """Return whether torch's optimizer trains a leaf."""
    return name.split("/")[-1] in ("weight", "bias")


OPTIMIZER = optim.adamw(lr=optim.lr_scheduler.lambda_lr(0.1, lr_lambda=lambda step: 0.5**step))


def init_optimizer(params):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(jaxgrad.partition(params, is_trained)[0])


def train_step(params, opt_state, x, target):
    """Make one step of torch's training loop, in its order: loss, gradients, AdamW, LambdaLR."""
    trained, others = jaxgrad.partition(params, is_trained)

    def loss_of(trained):
        return loss_fn(jaxgrad.combine(trained, others), x, target)

    (loss, params), grads = jaxgrad.value_and_grad(loss_of, has_aux=True)(trained)
    trained, opt_state = OPTIMIZER.step(grads, opt_state, trained)
    _, others = jaxgrad.partition(params, is_trained)
    params = jaxgrad.combine(trained, others)
    return params, opt_state, loss

# ---- the next port of this test ----
"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: 1/running_mean, 1/running_var,
  1/num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jaxgrad
from jaxgrad import functional
from jaxgrad import optim

F = functional.at("2.13")


def sequential(p, x, *, training=False):
    """torch.nn.Sequential: x (N, 3) -> (N, 2), updated p."""
    p = list(p)
    x = F.linear(x, **p[0])
    x, p[1] = batch_norm1d(p[1], x, training=training)
    return x, p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 2) -> (N, 2), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p


def mean_square(y, target):
    """mean_square (test_the_whole_schedule_is_com0/mymodel.py:0)."""
    return ((y - target) ** 2).mean()


def loss_fn(params, x, target):
    """Return the loss of a batch in train mode, and the new params."""
    outputs, params = sequential(params, x, training=True)
    return mean_square(outputs, target), params


def is_trained(name, _):
    """Return whether torch's optimizer trains a leaf."""
    return name.split("/")[-1] in ("weight", "bias")


OPTIMIZER = optim.adamw(lr=optim.lr_scheduler.lambda_lr(0.1, lr_lambda=lambda step: 0.5**step))


def init_optimizer(params):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(jaxgrad.partition(params, is_trained)[0])


def train_step(params, opt_state, x, target):
    """Make one step of torch's training loop, in its order: loss, gradients, AdamW, LambdaLR."""
    trained, others = jaxgrad.partition(params, is_trained)

    def loss_of(trained):
        return loss_fn(jaxgrad.combine(trained, others), x, target)

    (loss, params), grads = jaxgrad.value_and_grad(loss_of, has_aux=True)(trained)
    trained, opt_state = OPTIMIZER.step(grads, opt_state, trained)
    _, others = jaxgrad.partition(params, is_trained)
    params = jaxgrad.combine(trained, others)
    return params, opt_state, loss
