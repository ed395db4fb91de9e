"""Select the arguments to differentiate, and check that the loss is a single number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp

from jaxgrad._core import refusals
from jaxgrad._core import tree as _tree


def chosen(fun: Callable[..., Any], args: Sequence[Any], argnums: Any) -> Any:
    """Return the arguments to differentiate: a single one if `argnums` is an int, else a tuple."""
    if not callable(fun):
        raise TypeError(f"the function to differentiate must be callable, but got {fun!r}")
    refusals.torch_function("the function to differentiate", fun)
    wanted = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for i in wanted:
        if not -len(args) <= i < len(args):
            raise TypeError(
                f"argnums={argnums} asks for argument {i} of {name(fun)}, "
                f"which was called with {len(args)} positional arguments"
            )
        refusals.torch_values(f"argument {i} of {name(fun)}", args[i])
    return args[argnums] if isinstance(argnums, int) else tuple(args[i] for i in wanted)


def replaced(args: Sequence[Any], argnums: Any, chosen: Any) -> list[Any]:
    """Return a copy of `args` in which the differentiated arguments are replaced."""
    args = list(args)
    if isinstance(argnums, int):
        args[argnums] = chosen
    else:
        for i, new in zip(argnums, chosen, strict=True):
            args[i] = new
    return args


def pair(fun: Callable[..., Any], out: Any) -> tuple[Any, Any]:
    """Return the loss and the auxiliary output of a function with `has_aux=True`."""
    if isinstance(out, tuple) and len(out) == 2:
        return out
    raise TypeError(f"has_aux=True: {name(fun)} must return (loss, aux), got {type(out).__name__}")


def scalar(fun: Callable[..., Any], value: Any) -> Any:
    """Return the single element of a loss, or raise an error that says how to fix it."""
    refusals.torch_values(f"the loss of {name(fun)}", value)
    if not _tree.is_array(value):
        raise TypeError(
            f"{name(fun)} must return the loss, one floating point number, "
            f"got {type(value).__name__}; return (loss, aux) needs has_aux=True"
        )
    dtype, shape = jnp.result_type(value), jnp.shape(value)
    if jnp.issubdtype(dtype, jnp.complexfloating):
        raise TypeError(
            f"{name(fun)} returned {dtype}: only a real number has a gradient. "
            "Take .real, .imag or jnp.abs of it first"
        )
    if not jnp.issubdtype(dtype, jnp.floating):
        raise TypeError(f"{name(fun)} returned {dtype}: only a floating point loss has a gradient")
    if jnp.size(value) != 1:
        raise TypeError(
            f"{name(fun)} returned shape {shape}: only a loss of one element has a gradient. "
            "Reduce it (jnp.sum, jnp.mean), or pass a cotangent of that shape: "
            "value, pullback = jax.vjp(fun, *args); grads = pullback(cotangent)"
        )
    return value if shape == () else jnp.reshape(value, ())


def name(fun: Callable[..., Any]) -> str:
    """Return the name of the user's function for an error message."""
    return getattr(fun, "__name__", None) or type(fun).__name__
