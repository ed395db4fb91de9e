"""The one way to give a function torch's derivative where JAX's own has another convention."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero


Formula = Callable[..., Any]
_NO_TANGENT = jax.dtypes.float0


def derivative(*formulas: Formula | None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give `fun(*arrays, **options)` these derivatives, one formula for each array.

    A formula is `formula(t, out, *arrays, **options)`: the tangent `t` of its array times the
    partial derivative, linear in `t`, in jnp and lax. `out` is the result, as in torch's formulas.
    It is written as torch's backward formula is, because torch's second derivative is the
    derivative of that formula: so is this one's. Broadcasting and dtype are looked after here.

    Mask the factor and not the product, `t * jnp.where(mask, factor, 0)`: in reverse mode the
    product would be 0 * inf where the mask is off.

    Args:
        *formulas: One for each positional argument of the function. None: no gradient passes
            there. Arguments that are not differentiated contribute nothing at all. An argument
            may be a tuple of arrays, of whose tangents some may be a zero: ask `is_zero`.

    Returns:
        A decorator. What is passed by keyword is an option, without a derivative.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> @derivative(lambda t, _, x: t * jnp.sign(x))
        ... def absolute(x):
        ...     return jnp.abs(x)
        >>> print(jax.grad(absolute)(0.0), jax.grad(jnp.abs)(0.0))
        0.0 1.0
    """

    def decorate(fun: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fun)
        def call(*args: Any, **options: Any) -> Any:
            def bound(*args: Any) -> Any:
                return fun(*args, **options)

            bound.__name__ = fun.__name__  # what a jaxpr shows
            rule = jax.custom_jvp(bound)
            rule.defjvp(functools.partial(jvp, options), symbolic_zeros=True)
            return rule(*args)

        def jvp(options: dict[str, Any], args: Any, tangents: Any) -> tuple[Any, Any]:
            # Itself, so that its second derivative is the rule's too.
            out = jax.tree.map(jnp.asarray, call(*args, **options))
            parts = [
                formula(tangent, out, *args, **options)
                for formula, tangent in zip(formulas, tangents, strict=False)
                if formula is not None and not is_zero(tangent)
            ]
            return out, jax.tree.map(_total, out, *parts, is_leaf=_is_none)

        return call

    return decorate


def not_differentiable(name: str) -> Formula:
    """The formula of an argument by which torch has no derivative: it raises torch's error."""

    def formula(*_: Any, **__: Any) -> NoReturn:
        raise RuntimeError(
            f"derivative for {name} is not implemented, as in torch; stop the gradient before it "
            "with jax.lax.stop_gradient"
        )

    return formula


def is_zero(tangent: Any) -> bool:
    """Whether it is the tangent of what is not differentiated."""
    leaves = jax.tree.leaves(tangent, is_leaf=lambda x: isinstance(x, SymbolicZero))
    return all(
        isinstance(leaf, SymbolicZero) or getattr(leaf, "dtype", None) == _NO_TANGENT
        for leaf in leaves
    )


def _is_none(x: Any) -> bool:
    return x is None


def _total(out: jax.Array, *parts: Any) -> Any:
    """The sum of the contributions, in the shape and dtype of the output's leaf."""
    if not jnp.issubdtype(out.dtype, jnp.inexact):
        return np.zeros(out.shape, _NO_TANGENT)
    total = [jnp.broadcast_to(part, out.shape) for part in parts if part is not None]
    if not total:
        return jnp.zeros_like(out)
    return functools.reduce(jnp.add, total).astype(out.dtype)
