"""JAX port of Complex (training/test_steps.py), written by jaxgrad.port for torch 2.13.

jax.grad gives the conjugate of torch's .grad for complex parameters (mix);
pass jax.tree.map(jnp.conj, grads) to an optimizer.
"""

import jax
import jax.numpy as jnp
import jaxgrad
from flax import nnx
from jaxgrad import functional
from jaxgrad import optim
from jaxgrad.nnx import Linear

F = functional.at("2.13")


class Complex(nnx.Module):
    """A module that returns its loss, with complex parameters and a frozen layer.

    Complex (training/test_steps.py:0).

    `jaxgrad.nnx.load_state_dict` sets `mix`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.mix = nnx.Param(jnp.empty((3, 3), jnp.complex64))
        self.fc = Linear(3, 3, rngs=rngs)
        self.frozen = Linear(3, 3, rngs=rngs)

    def __call__(self, x):
        h = jnp.tanh(self.frozen(self.fc(x)))
        return jnp.square(F.abs(self.mix[...] @ h.T.astype(self.mix[...].dtype))).mean()


def loss_fn(model, x):
    """Return the loss of a batch in train mode."""
    return model(x)


def is_trained(path, _):
    """Return whether torch's optimizer trains a parameter."""
    name = "/".join(map(str, path))
    return not name.startswith("frozen/")


TRAINED = nnx.All(nnx.Param, is_trained)


OPTIMIZER = optim.adamw(lr=0.01)


def init_optimizer(model):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(nnx.to_pure_dict(nnx.state(model, TRAINED)))


def train_step(model, opt_state, x):
    """Make one step of torch's training loop, in its order: loss, gradients, clipping, AdamW.

    The model is changed in place; `model.train()` comes before.
    """
    graph, params, others = nnx.split(model, TRAINED, ...)
    params = nnx.to_pure_dict(params)

    def loss_of(params):
        model = nnx.merge(graph, params, others, copy=True)
        return loss_fn(model, x), nnx.state(model, nnx.Not(TRAINED))

    (loss, others), grads = jaxgrad.value_and_grad(loss_of, has_aux=True)(params)
    # jax.grad gives the conjugate of torch's .grad for complex parameters
    grads = jax.tree.map(jnp.conj, grads)
    grads, _ = jaxgrad.clip_grad_norm(grads, 0.5)
    params, opt_state = OPTIMIZER.step(grads, opt_state, params)
    nnx.update(model, params, others)
    return opt_state, loss
