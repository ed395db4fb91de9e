"""Corners of the autograd API: sizes, dtypes, buffers, tied weights, per-sample gradients."""

import jax
import jax.numpy as jnp
from jax import lax

import jaxgrad
from parity_tests.case import Deviation, Raises, case, identity
from parity_tests.cases._net import error_of, mlp, mse
from parity_tests.inputs import bernoulli, fixed, integers, normal, uniform
from parity_tests.inputs import linear as draw_linear


@case(
    source=("P179", "S4-02"),
    inputs={"w": normal(3, scale=0.3), "x": normal(4, 3)},
    idiom=("loss.reshape(1).backward()", "jaxgrad.grad(fun)(w)"),
)
def loss_of_size_1(w, x):
    """`backward()` accepts any loss that has one element, whatever its shape."""
    seen = {}
    for shape in ((), (1,), (1, 1)):

        def forward(w, shape=shape):
            return jnp.sum(jnp.tanh(x @ w)).reshape(shape)

        loss, grad = jaxgrad.value_and_grad(forward)(w)
        seen[str(shape)] = {"loss": loss, "w": grad}
    return seen


def _integer_pin(error):
    def pin(w, n):
        grad = n.astype(w.dtype)
        return {"loss": (w * grad).sum(), "w": grad, "n": None, "n.requires_grad_()": error}

    return pin


@case(
    source="P180",
    inputs={"w": normal(3), "n": integers(3, low=1, high=9)},
    idiom=("n.requires_grad_()  # raises", "jax.grad(fun)(n)  # raises"),
    deviation=Deviation(
        why="Both frameworks refuse to differentiate with respect to an integer; the "
        "exceptions differ.",
        torch_is=_integer_pin(Raises(RuntimeError, "only Tensors of floating point dtype")),
        jax_is=_integer_pin(Raises(TypeError, "int64")),
    ),
)
def integer_input(w, n):
    """An integer tensor cannot require a gradient; its `.grad` stays None."""

    def forward(w, n):
        return jnp.sum(w * n)

    loss, (grad, none) = jaxgrad.value_and_grad(forward, argnums=(0, 1))(w, n)
    refused = error_of(lambda: jax.grad(forward, argnums=1)(w, n))
    return {"loss": loss, "w": grad, "n": none, "n.requires_grad_()": refused}


@case(
    source="P184",
    inputs={
        "weight": normal(3, 2),
        "scale": uniform(2, low=0.5, high=2.0),
        "steps": fixed(3),
        "x": normal(4, 3),
    },
    idiom=("self.register_buffer('scale', scale)", "lax.stop_gradient(buffers)"),
    control={"stop_gradient": identity},
)
def buffers(weight, scale, steps, x, *, stop_gradient=lax.stop_gradient):
    """Buffers take part in the forward pass and get no gradient; only parameters do."""

    def forward(variables):
        state = stop_gradient({name: variables[name] for name in ("scale", "steps")})
        return jnp.sum((x @ variables["weight"] / (state["scale"] * state["steps"])) ** 2)

    variables = {"weight": weight, "scale": scale, "steps": steps}
    loss, grads = jaxgrad.value_and_grad(forward)(variables)
    return {"loss": loss, **grads}


@case(
    source="P185",
    inputs={"w": normal(4, 3, scale=0.3), "x": normal(5, 4)},
    idiom=("decoder.weight = encoder.weight", "fun(w, w): one leaf, two uses"),
    picture=True,
)
def tied_weights(w, x):
    """A weight used in two places is one parameter; its gradient is the sum over both places."""

    def forward(encoder, decoder):
        return mse(jnp.tanh(x @ encoder) @ decoder.T, x)

    params = {"encoder": w}
    loss, tied = jaxgrad.value_and_grad(lambda p: forward(p["encoder"], p["encoder"]))(params)
    _, (encoder, decoder) = jaxgrad.value_and_grad(forward, argnums=(0, 1))(w, w)
    return {
        "loss": loss,
        "parameters": list(params),
        "tied": tied["encoder"],
        "untied": {"encoder": encoder, "decoder": decoder},
    }


@case(
    source="P187",
    inputs={
        "net": {"l1": draw_linear(4, 6), "l2": draw_linear(6, 3)},
        "x": normal(5, 4),
        "y": normal(5, 3),
    },
    idiom=("torch.func.vmap(torch.func.grad(loss))", "jax.vmap(jax.grad(loss), (None, 0, 0))"),
)
def per_sample(net, x, y):
    """`vmap` of the gradient gives the same per-sample gradients as a loop over the samples."""

    def loss(net, x, y):
        return mse(mlp(net, x), y)

    by_vmap = jax.vmap(jaxgrad.grad(loss), in_axes=(None, 0, 0))(net, x, y)
    by_loop = lax.map(lambda sample: jaxgrad.grad(loss)(net, *sample), (x, y))
    return {"vmap": by_vmap, "loop": {"l1": {"weight": by_loop["l1"]["weight"]}}}


@case(
    source="P187",
    inputs={"w": normal(3), "x": normal(4, 3), "mask": bernoulli(4, 3, p=0.5)},
    idiom=("vmap(grad(loss))(w, x)  # dropout raises", "jax.vmap(fun)(x, masks_or_keys)"),
    deviation=Deviation(
        why="torch draws from a hidden generator, so its `vmap` needs `randomness=`. In JAX "
        "the mask is an input.",
        torch_is=Raises(RuntimeError, "called random operation while in randomness error mode"),
        jax_is=lambda w, x, mask: x * mask / w.dtype.type(0.5),
    ),
)
def per_sample_dropout(w, x, mask):
    """Dropout under torch's `vmap` raises without `randomness=`; JAX takes one mask per sample."""

    def loss(w, x, mask):
        return jnp.sum(w * x * mask / 0.5)

    return jax.vmap(jaxgrad.grad(loss), in_axes=(None, 0, 0))(w, x, mask)
