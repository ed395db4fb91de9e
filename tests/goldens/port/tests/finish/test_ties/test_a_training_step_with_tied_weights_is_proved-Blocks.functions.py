"""JAX port of Blocks (finish/test_ties.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: */running_mean, */running_var,
  */num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional
from jaxgrad import optim

F = functional.at("2.13")


def blocks_forward(p, x, *, training=False):
    """A weight that the first layer shares with each block of a list, beside untied parameters.

    Blocks (finish/test_ties.py:0): x (N, 3) -> (N, 3), updated p.
    """
    given = p
    p = jax.tree.map(lambda x: x, p)
    p["blocks"][0]["fc"]["weight"] = p["first"]["weight"]  # tied
    p["blocks"][1]["fc"]["weight"] = p["first"]["weight"]  # tied
    x = F.linear(x, **p["first"])
    blocks = []
    for block in p["blocks"]:
        x, block = block_forward(block, x, training=training)
        blocks.append(block)
    p["blocks"] = blocks
    return x, without_tied(p, given)


def block_forward(p, x, *, training):
    """Block (finish/test_ties.py:0): x (N, 3) -> (N, 3), updated p."""
    p = dict(p)
    x, p["norm"] = batch_norm1d(p["norm"], jnp.tanh(F.linear(x, **p["fc"])), training=training)
    return x, p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 3) -> (N, 3), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p


def without_tied(p, given):
    """Return params without the tied leaves that the given params do not have."""
    if isinstance(given, dict):
        return {k: without_tied(p[k], x) for k, x in given.items()}
    if isinstance(given, list):
        return [without_tied(x, y) for x, y in zip(p, given, strict=True)]
    return p


def loss_fn(params, x, target):
    """Return the loss of a batch in train mode, and the new params."""
    outputs, params = blocks_forward(params, x, training=True)
    return F.mse_loss(outputs, target), params


def is_trained(name, _):
    """Return whether torch's optimizer trains a leaf."""
    return name.split("/")[-1] in ("weight", "bias")


OPTIMIZER = optim.sgd(lr=0.1)


def init_optimizer(params):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(jaxgrad.partition(params, is_trained)[0])


def train_step(params, opt_state, x, target):
    """Make one step of torch's training loop, in its order: loss, gradients, SGD."""
    trained, others = jaxgrad.partition(params, is_trained)

    def loss_of(trained):
        return loss_fn(jaxgrad.combine(trained, others), x, target)

    (loss, params), grads = jaxgrad.value_and_grad(loss_of, has_aux=True)(trained)
    trained, opt_state = OPTIMIZER.step(grads, opt_state, trained)
    _, others = jaxgrad.partition(params, is_trained)
    params = jaxgrad.combine(trained, others)
    return params, opt_state, loss
