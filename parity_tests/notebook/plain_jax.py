"""The helpers of jaxgrad in a few lines of plain JAX, without their checks and special cases.

`plain("hook")` displays the function `hook` of this file. A test compares each with the helper.
"""

import inspect

import jax
import jax.numpy as jnp
from jax import lax

from parity_tests.notebook.display import prose
from parity_tests.notebook.highlight import block


def accumulate(grads, new):
    def add(old, new):
        if old is None or new is None:  # None: the parameter has no gradient
            return new if old is None else old
        return old + new

    return jax.tree.map(add, grads, new, is_leaf=lambda g: g is None)


def no_grad(fun):
    def constant(*args):
        return lax.stop_gradient(fun(*lax.stop_gradient(args)))

    return constant


def hook(x, fn):
    @jax.custom_vjp
    def identity(x):
        return x

    identity.defvjp(lambda x: (x, None), lambda _, g: (fn(g),))
    return identity(x)


def retain_grad(loss, h):
    # A zero that is added to h has the gradient of h.
    return jax.grad(lambda zero: loss(h + zero))(jnp.zeros_like(h))


def partition(params, predicate):
    trained = {k: x if predicate(k, x) else None for k, x in params.items()}
    frozen = {k: None if predicate(k, x) else x for k, x in params.items()}
    return trained, frozen


def clip_grad_norm(grads, max_norm):
    norm = jnp.sqrt(sum(jnp.sum(g**2) for g in jax.tree.leaves(grads)))
    scale = jnp.minimum(max_norm / (norm + 1e-6), 1.0)
    return jax.tree.map(lambda g: scale * g, grads), norm


def clip_grad_value(grads, clip_value):
    return jax.tree.map(lambda g: jnp.clip(g, -clip_value, clip_value), grads)


def straight_through(fun):
    def through(x):
        return x + lax.stop_gradient(fun(x) - x)

    return through


def reverse_gradient(x, scale=1.0):
    return -scale * x + lax.stop_gradient((1 + scale) * x)


def plain(name: str) -> "Code":
    """Show the core of a helper of jaxgrad in plain JAX."""
    code = inspect.getsource(globals()[name]).rstrip()
    return Code(f"In plain JAX, the core of `jaxgrad.{name}` is:", code)


class Code:
    """Lines of code below a sentence."""

    def __init__(self, text: str, code: str):
        self.text, self.code = text, code

    def _repr_html_(self) -> str:
        return f"<p>{prose(self.text)}</p>\n{block(self.code)}"

    def __repr__(self) -> str:
        return f"{self.text}\n{self.code}"
