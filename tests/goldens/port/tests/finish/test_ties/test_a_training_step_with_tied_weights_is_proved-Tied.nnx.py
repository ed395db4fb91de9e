"""JAX port of Tied (finish/test_ties.py), written by jaxgrad.port for torch 2.13."""

import jaxgrad
from flax import nnx
from jaxgrad import functional
from jaxgrad import optim
from jaxgrad.nnx import BatchNorm1d, Linear

F = functional.at("2.13")


class Tied(nnx.Module):
    """A layer with two names, the second in a submodule without other parameters.

    Tied (finish/test_ties.py:0).
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.a = Linear(3, 3, bias=False, rngs=rngs)
        self.b = nnx.Dict({"fc": Linear(3, 3, bias=False, rngs=rngs)})
        self.norm = BatchNorm1d(3)
        self.b.fc = self.a  # tied

    def __call__(self, x):
        return self.norm(self.b["fc"](self.a(x)))


def loss_fn(model, x, target):
    """Return the loss of a batch in train mode."""
    return F.mse_loss(model(x), target)


OPTIMIZER = optim.sgd(lr=0.1)


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
