"""JAX port of Tied (finish/test_ties.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: norm/running_mean, norm/running_var,
  norm/num_batches_tracked.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
A function that changes buffers returns (output, updated p).
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jaxgrad
from jaxgrad import functional
from jaxgrad import optim

F = functional.at("2.13")


def tied(p, x, *, training=False):
    """A layer with two names, the second in a submodule without other parameters.

    Tied (finish/test_ties.py:0): x (N, 3) -> (N, 3), updated p.
    """
    p = dict(p)
    p["b"] = {"fc": {"weight": p["a"]["weight"]}}  # tied
    norm_out = F.linear(F.linear(x, **p["a"]), **p["b"]["fc"])
    norm_out, p["norm"] = batch_norm1d(p["norm"], norm_out, training=training)
    return norm_out, {k: x for k, x in p.items() if k != "b"}


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 3) -> (N, 3), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p


def loss_fn(params, x, target):
    """Return the loss of a batch in train mode, and the new params."""
    outputs, params = tied(params, x, training=True)
    return F.mse_loss(outputs, target), params


def is_trained(name, _):
    """Return whether torch's optimizer trains a leaf."""
    return name.split("/")[-1] == "weight" or name == "norm/bias"


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
