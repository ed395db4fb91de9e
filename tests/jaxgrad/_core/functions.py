"""Subclasses of torch.autograd.Function that run unchanged in both torch and JAX."""

# ruff: noqa: N803  # Base is a class

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

import jaxgrad
from jaxgrad.parity.interop import to_jax, to_torch
from tests import _helpers


V, W, K = np.array([0.5, 1.5, -2.0]), np.array([3.0, -1.0, 0.25]), np.array([2, 0, 1])
DTYPES = ("float64", "float32")
same = functools.partial(_helpers.same, absolute=True)


def saves(what: str, as_attribute: bool = False) -> Any:
    def make(xp, Base):
        class Saves(Base):
            """An exponential whose gradient uses one saved value."""

            @staticmethod
            def forward(ctx, x):
                y, between = xp.exp(x), xp.sin(x)
                value = {"input": x, "output": y, "neither": between}[what]
                if as_attribute:
                    ctx.held = {"value": [value], "name": what}
                else:
                    ctx.save_for_backward(None, value)
                return y

            @staticmethod
            def backward(ctx, grad):
                value = ctx.held["value"][0] if as_attribute else ctx.saved_tensors[1]
                return grad * value * value

        return Saves

    return make


def product(xp, Base):
    class Product(Base):
        """A product of two inputs, one of which may need no gradient."""

        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x * w

        @staticmethod
        def backward(ctx, grad):
            x, w = ctx.saved_tensors
            grad_x = grad * w * 2.0 if ctx.needs_input_grad[0] else None
            grad_w = grad * x * (3.0 if ctx.needs_input_grad[0] else 5.0)
            return grad_x, grad_w

    return Product


def first_only(xp, Base):
    class FirstOnly(Base):
        """A product that saves its second input but returns no gradient for it."""

        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x * w

        @staticmethod
        def backward(ctx, grad):
            _, w = ctx.saved_tensors
            return grad * w * w, None

    return FirstOnly


def several(xp, Base):
    class Several(Base):
        """A tuple of outputs: float, integer, marked non-differentiable, and not a tensor."""

        @staticmethod
        def forward(ctx, x, w):
            s, p = x + w, x * w
            marked, order = x * 7.0, xp.argsort(x)
            ctx.mark_non_differentiable(marked)
            ctx.save_for_backward(x, w, p)
            return s, p, marked, order, "name", None

        @staticmethod
        def backward(ctx, grad_s, grad_p, grad_marked, grad_order, grad_name, grad_none):
            x, w, p = ctx.saved_tensors
            assert grad_name is None and grad_none is None
            assert grad_order.shape == x.shape and "int64" in str(grad_order.dtype)
            nothing = grad_marked + grad_order
            return grad_s + grad_p * w + nothing, grad_s * p + grad_p * x

    return Several


def unmaterialized(xp, Base):
    class Unmaterialized(Base):
        """A function that gets None instead of zeros for an output without a gradient."""

        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            marked = x * 7.0
            ctx.mark_non_differentiable(marked)
            return x * 2.0, x * 3.0, marked

        @staticmethod
        def backward(ctx, first, second, marked):
            assert marked is None
            if first is None:
                return second * 100.0
            return first if second is None else first + second

    return Unmaterialized


def power(xp, Base):
    class Power(Base):
        """A power with non-tensor arguments, positional and with defaults."""

        @staticmethod
        def forward(ctx, x, n, how="plus", shift=1.0):
            ctx.save_for_backward(x)
            ctx.n, ctx.how = n, how
            return x**n + shift if how == "plus" else x**n - shift

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * ctx.n * x ** (ctx.n - 1), None, None, None

    return Power


def split(xp, Base):
    class Split(Base):
        """A class with `setup_context`, where a defaulted argument counts as an input."""

        @staticmethod
        def forward(x, n, shift=1.0):
            return x**n + shift, x * 3.0

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, n, shift = inputs
            y, _ = output
            ctx.save_for_backward(x, y)
            ctx.n, ctx.shift = n, shift

        @staticmethod
        def backward(ctx, grad_y, grad_z):
            x, y = ctx.saved_tensors
            return grad_y * ctx.n * (y - ctx.shift) / x + grad_z * 3.0, None, None

    return Split


def gather(xp, Base):
    class Gather(Base):
        """An indexing whose gradient for the integer index is ignored, whatever its shape."""

        @staticmethod
        def forward(ctx, x, index):
            ctx.save_for_backward(index)
            return x[index]

        @staticmethod
        def backward(ctx, grad):
            (index,) = ctx.saved_tensors
            return grad[xp.argsort(index)], grad.sum()

    return Gather


def identity(xp, Base):
    class Identity(Base):
        """A function that returns its input."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    return Identity


def huber(xp, Base):
    class Huber(Base):
        """The Huber loss from case S4-12."""

        @staticmethod
        def forward(ctx, prediction, target, delta):
            error = prediction - target
            ctx.save_for_backward(error)
            ctx.delta = delta
            small = 0.5 * error**2
            return xp.where(abs(error) <= delta, small, delta * (abs(error) - 0.5 * delta)).mean()

        @staticmethod
        def backward(ctx, grad):
            (error,) = ctx.saved_tensors
            slope = xp.clip(error, -ctx.delta, ctx.delta) / error.shape[0]
            return grad * slope, -grad * slope, None

    return Huber


def total(out: Any) -> Any:
    """Sum the squares of all floating point outputs, weighted by position."""
    outs = out if isinstance(out, tuple) else (out,)
    return sum(
        (o * o * (i + 1.0)).sum()
        for i, o in enumerate(outs)
        if "float" in str(getattr(o, "dtype", ""))
    )


CASES = {  # class factory, arguments, indices of differentiated arguments, loss
    "saved input": (saves("input"), [V], [0], total),
    "saved output": (saves("output"), [V], [0], total),
    "saved neither": (saves("neither"), [V], [0], total),
    "input in an attribute": (saves("input", True), [V], [0], total),
    "output in an attribute": (saves("output", True), [V], [0], total),
    "neither in an attribute": (saves("neither", True), [V], [0], total),
    "both": (product, [V, W], [0, 1], total),
    "needs the first": (product, [V, W], [0], total),
    "needs the second": (product, [V, W], [1], total),
    "the same twice": (product, [V, V], [0, 1], total),
    "None for the second": (first_only, [V, W], [0], total),
    "several outputs": (several, [V, W], [0, 1], total),
    "of several one": (several, [V, W], [0, 1], lambda out: out[1].sum()),
    "of several one that has no gradient": (several, [V, W], [0], lambda o: (o[0] * o[2]).sum()),
    "unmaterialized both": (unmaterialized, [V], [0], lambda out: (out[0] * out[1]).sum()),
    "unmaterialized first": (unmaterialized, [V], [0], lambda out: (out[0] * out[2]).sum()),
    "unmaterialized second": (unmaterialized, [V], [0], lambda out: (out[1] ** 2).sum()),
    "static arguments": (power, [V, 3, "minus", 0.5], [0], total),
    "defaults": (power, [V, 2], [0], total),
    "setup_context": (split, [V, 3], [0], total),
    "setup_context, all given": (split, [V, 2, 0.25], [0], total),
    "integer": (gather, [V, K], [0], total),
    "the input itself": (identity, [V], [0], total),
    "huber": (huber, [V, W, 0.75], [0, 1], lambda out: out),
}
NEITHER = {"saved neither", "neither in an attribute"}
# Cases whose first gradient torch does not record.
CONSTANT = {"unmaterialized first", "huber", "of several one that has no gradient"}


def torch_side(maker, args, moving, loss, second):
    function = maker(torch, torch.autograd.Function)
    args = [to_torch(a) for a in args]
    for place in moving:
        args[place].requires_grad_()
    wanted = [args[place] for place in moving]
    value = loss(function.apply(*args))
    first = torch.autograd.grad(value, wanted, create_graph=second)
    if not second:
        return value, list(first)
    again = torch.autograd.grad(torch.cat([g.flatten() for g in first]).square().sum(), wanted)
    return value, list(first), list(again)


def jax_side(maker, args, moving, loss, second, mode):
    function = jaxgrad.from_function(maker(jnp, object))
    static = {i: a for i, a in enumerate(args) if i not in moving}

    def value(*moved):
        full = iter(moved)
        inputs = [to_jax(static[i]) if i in static else next(full) for i in range(len(args))]
        return loss(function(*inputs))

    wanted = [to_jax(args[place]) for place in moving]
    places = tuple(range(len(moving)))
    inner = mode(jax.value_and_grad(mode(value), places))
    out, first = inner(*wanted)
    if not second:
        return out, list(first)
    again = mode(jax.grad(lambda *a: sum((g * g).sum() for g in inner(*a)[1]), places))(*wanted)
    return out, list(first), list(again)


def eager(fun: Any, **_: Any) -> Any:
    return fun


def returns(answer: Any, count: int = 1) -> Any:
    def make(xp, Base):
        class Returns(Base):
            @staticmethod
            def forward(ctx, *args):
                return args[0] * 2.0

            @staticmethod
            def backward(ctx, grad):
                return answer(xp, grad)

        return Returns

    return make
