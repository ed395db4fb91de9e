"""JAX port of Normed (training/test_steps.py), written by jaxgrad.port for torch 2.13.

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


def normed(p, x, *, training=False):
    """Normed (training/test_steps.py:0): x (N, 3) -> {logits (N, 2)}, updated p."""
    p = dict(p)
    x, p["norm"] = batch_norm1d(p["norm"], F.linear(x, **p["trunk"]), training=training)
    return {"logits": F.linear(x, **p["head"])}, p


def batch_norm1d(p, x, *, training):
    """torch.nn.BatchNorm1d: x (N, 4) -> (N, 4), updated p."""
    p = dict(p)
    if training:
        p["num_batches_tracked"] = p["num_batches_tracked"] + 1
    x, p["running_mean"], p["running_var"] = F.batch_norm(
        x, p["running_mean"], p["running_var"], p["weight"], p["bias"], training=training
    )
    return x, p


def smoothed(outputs, labels):
    """smoothed (training/test_steps.py:0)."""
    logits = outputs["logits"]
    # a tenth of the mass is spread
    return F.cross_entropy(logits, labels, label_smoothing=0.1)


def loss_fn(params, x, labels):
    """Return the loss of a batch in train mode, and the new params."""
    outputs, params = normed(params, x, training=True)
    return smoothed(outputs, labels), params


def is_trained(name, _):
    """Return whether torch's optimizer trains a leaf."""
    return name.startswith("head/") or name in ("norm/weight", "norm/bias")


OPTIMIZER = optim.adamw(
    lr=optim.lr_scheduler.sequential_lr(
        0.01,
        [
            optim.lr_scheduler.linear_lr(0.01, start_factor=0.1, total_iters=2),
            optim.lr_scheduler.step_lr(0.01, step_size=2),
        ],
        [2],
    )
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
