"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13."""

import jaxgrad
from flax import nnx
from jaxgrad import optim
from jaxgrad.nnx import BatchNorm1d, Linear


class Sequential(nnx.Module):
    """torch.nn.Sequential."""

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", Linear(3, 2, rngs=rngs))
        setattr(self, "1", BatchNorm1d(2))

    def __call__(self, x):
        for module in self:
            x = module(x)
        return x

    def __iter__(self):
        return (getattr(self, str(number)) for number in range(2))


def mean_square(y, target):
    """mean_square (test_the_whole_schedule_is_com0/mymodel.py:0)."""
    return ((y - target) ** 2).mean()


def loss_fn(model, x, target):
    """Return the loss of a batch in train mode."""
    return mean_square(model(x), target)


OPTIMIZER = optim.adamw(lr=optim.lr_scheduler.lambda_lr(0.1, lr_lambda=lambda step: 0.5**step))


def init_optimizer(model):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(nnx.to_pure_dict(nnx.state(model, nnx.Param)))


def train_step(model, opt_state, x, target):
    """Make one step of torch's training loop, in its order: loss, gradients, AdamW, LambdaLR.

    The model is changed in place; `model.train()` comes before.
    """
    graph, params, others = nnx.split(model, nnx.Param, ...)
    params = nnx.to_pure_dict(params)

    def loss_of(params):
        model = nnx.merge(graph, params, others, copy=True)
        return loss_fn(model, x, target), nnx.state(model, nnx.Not(nnx.Param))

    (loss, others), grads = jaxgrad.value_and_grad(loss_of, has_aux=True)(params)
    params, opt_state = OPTIMIZER.step(grads, opt_state, params)
    nnx.update(model, params, others)
    return opt_state, loss

# ---- the next port of this test ----
"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13."""

import jaxgrad
from flax import nnx
from jaxgrad import optim
from jaxgrad.nnx import BatchNorm1d, Linear


class Sequential(nnx.Module):
    """torch.nn.Sequential."""

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", Linear(3, 2, rngs=rngs))
        setattr(self, "1", BatchNorm1d(2))

    def __call__(self, x):
        for module in self:
            x = module(x)
        return x

    def __iter__(self):
        return (getattr(self, str(number)) for number in range(2))


def mean_square(y, target):
    """mean_square (test_the_whole_schedule_is_com0/mymodel.py:0)."""
    return ((y - target) ** 2).mean()


def loss_fn(model, x, target):
    """Return the loss of a batch in train mode."""
    return mean_square(model(x), target)


OPTIMIZER = optim.adamw(lr=optim.lr_scheduler.lambda_lr(0.1, lr_lambda=lambda step: 0.5**step))


def init_optimizer(model):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(nnx.to_pure_dict(nnx.state(model, nnx.Param)))


def train_step(model, opt_state, x, target):
    """Make one step of torch's training loop, in its order: loss, gradients, AdamW, LambdaLR.

    The model is changed in place; `model.train()` comes before.
    """
    graph, params, others = nnx.split(model, nnx.Param, ...)
    params = nnx.to_pure_dict(params)

    def loss_of(params):
        model = nnx.merge(graph, params, others, copy=True)
        return loss_fn(model, x, target), nnx.state(model, nnx.Not(nnx.Param))

    (loss, others), grads = jaxgrad.value_and_grad(loss_of, has_aux=True)(params)
    params, opt_state = OPTIMIZER.step(grads, opt_state, params)
    nnx.update(model, params, others)
    return opt_state, loss
