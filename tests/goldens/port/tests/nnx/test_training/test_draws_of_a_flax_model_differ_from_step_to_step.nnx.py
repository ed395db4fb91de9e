"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13."""

import jaxgrad
from flax import nnx
from jaxgrad import functional
from jaxgrad import optim
from jaxgrad.nnx import Dropout, Linear

F = functional.at("2.13")


class Sequential(nnx.Module):
    """torch.nn.Sequential."""

    def __init__(self, *, rngs: nnx.Rngs):
        setattr(self, "0", Linear(3, 8, rngs=rngs))
        setattr(self, "1", Dropout(rngs=rngs))
        setattr(self, "2", Linear(8, 2, rngs=rngs))

    def __call__(self, x):
        for module in self:
            x = module(x)
        return x

    def __iter__(self):
        return (getattr(self, str(number)) for number in range(3))


def loss_fn(model, x, target):
    """Return the loss of a batch in train mode."""
    return F.cross_entropy(model(x), target)


OPTIMIZER = optim.sgd(lr=0.0)


def init_optimizer(model):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(nnx.to_pure_dict(nnx.state(model, nnx.Param)))


def train_step(model, opt_state, x, target):
    """Make one step of torch's training loop, in its order: loss, gradients, SGD.

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
