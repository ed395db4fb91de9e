"""Changing a tensor in place between forward and backward; in JAX a change creates a new array."""

import jax
import jax.numpy as jnp
import numpy as np

import jaxgrad
from parity_tests.case import Deviation, Raises, case
from parity_tests.inputs import document, fixed, normal


INPUTS = {"a": fixed([1, 2, 3]), "b": document([2.0, 3.0, 4.0])}
ABD = {"a": document(2.0), "b": document(3.0), "d": document(4.0)}
MODIFIED = Raises(RuntimeError, "modified by an inplace operation")


def _by_hand(a, b):
    grad = a.astype(b.dtype) + 1
    return {"d": (grad * b).sum(), "backward": grad}


@case(
    source="S1-02",
    inputs=INPUTS,
    idiom=("a[0] = .1  # after use: raises", "a = a.at[0].set(0)"),
    deviation=Deviation(
        why="torch saved the tensor `a` and detects that it has changed since. JAX saved the "
        "array that was used, and the change returns a new one.",
        torch_is=lambda a, b: {**_by_hand(a, b), "backward": MODIFIED},
        jax_is=_by_hand,
    ),
    picture=True,
)
def inplace_after_use(a, b):
    """Changing a saved tensor in place after its use makes `backward` raise."""
    d, vjp = jax.vjp(lambda b: jnp.sum(a * b + b), b)
    a = a.at[0].set(int(0.1))  # truncated to 0, as in torch
    (grad,) = vjp(jnp.ones_like(d))
    return {"d": d, "backward": grad}


@case(
    source=("S1-03", "P072"),
    inputs=INPUTS,
    idiom=("a[0] = .1  # before use", "a = a.at[0].set(0)"),
    expect={"b": [1.0, 3.0, 4.0]},
)
def inplace_before_use(a, b):
    """A tensor changed in place before its use contributes its value at the time of use.

    The gradient (1, 3, 4) is right: .1 was truncated to 0 in an integer tensor.
    """
    a = a.at[0].set(int(0.1))  # truncated to 0, as in torch
    d, grad = jaxgrad.value_and_grad(lambda b: jnp.sum(a * b + b))(b)
    return {"a": a, "d": d, "b": grad}


@case(
    source="S2-04",
    inputs=ABD,
    idiom=("e = c * d; c += 1; e.backward()", "c = c + 1"),
    deviation=Deviation(
        why="A product saves its factors, and torch detects that `c` has changed since. In "
        "JAX `c + 1` is a new array.",
        torch_is=lambda a, b, d: {"c": a * b + 1, "e": a * b * d, "backward": MODIFIED},
        jax_is=lambda a, b, d: {
            "c": a * b + 1,
            "e": a * b * d,
            "backward": {"a": b * d, "b": a * d, "d": a * b},
        },
    ),
    picture=True,
)
def inplace_saved(a, b, d):
    """`c += 1` after `e = c * d` makes `e.backward()` raise: the product saved c."""

    def forward(leaves):
        c = leaves["a"] * leaves["b"]
        e = c * leaves["d"]
        c += 1
        return e, c

    (e, c), grads = jaxgrad.value_and_grad(forward, has_aux=True)({"a": a, "b": b, "d": d})
    return {"c": c, "e": e, "backward": grads}


@case(
    source="S2-05",
    inputs=ABD,
    idiom=("e = c + d; c += 1; e.backward()", "c = c + 1"),
    expect={"c": 7.0, "e": 10.0, "a": 3.0, "b": 2.0, "d": 1.0},
)
def inplace_not_saved(a, b, d):
    """`c += 1` after `e = c + d` is harmless: a sum saves nothing."""

    def forward(leaves):
        c = leaves["a"] * leaves["b"]
        e = c + leaves["d"]
        c += 1
        return e, c

    (e, c), grads = jaxgrad.value_and_grad(forward, has_aux=True)({"a": a, "b": b, "d": d})
    return {"c": c, "e": e, **grads}


@case(
    source="P182",
    inputs={"x": document([1.0])},
    idiom=("x.data.mul_(10)", "x = x * 10"),
    deviation=Deviation(
        why="A change through `.data` does not increase torch's version counter, so torch "
        "silently returns the gradient at the changed x. A JAX array cannot be changed in "
        "place.",
        torch_is=lambda x: {"y": x**2, "x": 10 * x, "x.grad": 20 * x},
        jax_is=lambda x: {"y": x**2, "x": 10 * x, "x.grad": 2 * x},
    ),
)
def data(x):
    """A change through `.data` after use gives a silently wrong gradient: 20 instead of 2."""
    y, vjp = jax.vjp(lambda x: x**2, x)
    x = x * 10
    (grad,) = vjp(jnp.ones_like(y))
    return {"y": y, "x": x, "x.grad": grad}


@case(
    source="P186",
    inputs={"w": normal(3, 2, scale=0.3), "x": normal(4, 3)},
    idiom=("self.activation = h", "jax.grad(fun, has_aux=True)"),
)
def kept_activation(w, x):
    """An activation stored on the module can be used after `backward`; JAX returns it as aux."""

    def forward(w):
        activation = jnp.tanh(x @ w)
        return jnp.sum(activation), activation

    (loss, activation), grad = jaxgrad.value_and_grad(forward, has_aux=True)(w)
    return {"loss": loss, "w": grad, "twice": activation * 2}


def _by_torch(w, x):
    h = np.tanh(x @ w)
    return {"loss": h.sum(), "w": x.T @ (1 - h**2), "twice": 2 * h}


def _untransformed(fun):
    return lambda w: (fun(w), w)


@case(
    source="P186",
    inputs={"w": normal(3, 2, scale=0.3), "x": normal(4, 3)},
    idiom=("self.activation = h", "kept.append(h)  # raises when used"),
    control={"value_and_grad": _untransformed},
    deviation=Deviation(
        why="Inside `jax.grad` a value is a tracer, which cannot be used after the "
        "transformation ends. Return it as aux.",
        torch_is=_by_torch,
        jax_is=Raises(jax.errors.UnexpectedTracerError, "unexpected tracer"),
    ),
)
def leaked_activation(w, x, *, value_and_grad=jax.value_and_grad):
    """An activation stored in a global list works in torch; in JAX its use after `grad` raises."""
    kept = []

    def forward(w):
        kept.append(jnp.tanh(x @ w))
        return jnp.sum(kept[-1])

    loss, grad = value_and_grad(forward)(w)
    return {"loss": loss, "w": grad, "twice": kept[-1] * 2}
