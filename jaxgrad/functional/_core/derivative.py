"""Define a function with torch's derivative where JAX's derivative follows another convention."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from jaxgrad._core.refusals import NotDifferentiableError


Formula = Callable[..., Any]
_NO_TANGENT = jax.dtypes.float0
_ARRAY = object()  # stands for an array in the options of a rule


def derivative(*formulas: Formula | None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Define the derivatives of `fun(*arrays, **options)` by one formula for each array.

    `formula(t, out, *arrays, **options)` returns the tangent `t` of its array times the partial
    derivative, and must be linear in `t`. `out` is the function's result, as in torch's formulas.
    Write the formula as torch writes its backward formula: torch's second derivative is the
    derivative of that formula, and so is the second derivative here. The result of a formula is
    broadcast and cast to the output's shape and dtype.

    Mask the factor rather than the product, as in `t * jnp.where(mask, factor, 0)`: in reverse
    mode a masked product would compute 0 * inf where the mask is false.

    Args:
        *formulas: One formula for each positional argument; None stops the gradient to it.
            A formula is skipped while its argument is not differentiated. An argument may be a
            tuple of arrays, whose tangents may be symbolic zeros: test them with `is_zero`.

    Returns:
        A decorator for the function. Keyword arguments are options without a derivative.

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
            # A rule that closed over a traced option would keep it after the trace (a leak).
            leaves, tree = jax.tree.flatten(options)
            arrays = [x for x in leaves if isinstance(x, jax.Array)]
            static = [_ARRAY if isinstance(x, jax.Array) else x for x in leaves]

            def filled(arrays: list[jax.Array]) -> dict[str, Any]:
                rest = iter(arrays)
                return jax.tree.unflatten(tree, [next(rest) if x is _ARRAY else x for x in static])

            def bound(arrays: list[jax.Array], *args: Any) -> Any:
                return fun(*args, **filled(arrays))

            bound.__name__ = fun.__name__  # the name that a jaxpr shows
            rule = jax.custom_jvp(bound)
            rule.defjvp(functools.partial(jvp, filled), symbolic_zeros=True)
            return rule(arrays, *args)

        def jvp(filled: Formula, primals: Any, tangents: Any) -> tuple[Any, Any]:
            arrays, *args = primals
            options = filled(arrays)
            # Calls itself, so that a second derivative also uses the formulas.
            out = jax.tree.map(jnp.asarray, call(*args, **options))
            terms = [
                formula(tangent, out, *args, **options)
                for formula, tangent in zip(formulas, tangents[1:], strict=False)
                if formula is not None and not is_zero(tangent)
            ]
            return out, jax.tree.map(_total, out, *terms, is_leaf=lambda x: x is None)

        return call

    return decorate


def not_differentiable(name: str) -> Formula:
    """Return a formula that raises torch's error for an argument without a derivative."""

    def formula(*_: Any, **__: Any) -> NoReturn:
        raise NotDifferentiableError(
            f"derivative for {name} is not implemented, as in torch; stop the gradient before it "
            "with jax.lax.stop_gradient"
        )

    return formula


def is_zero(tangent: Any) -> bool:
    """Return whether a tangent belongs to an argument that is not differentiated."""
    leaves = jax.tree.leaves(tangent, is_leaf=lambda x: isinstance(x, SymbolicZero))
    return all(
        isinstance(leaf, SymbolicZero) or getattr(leaf, "dtype", None) == _NO_TANGENT
        for leaf in leaves
    )


def _total(out: jax.Array, *terms: Any) -> Any:
    """Sum the formulas' results in the shape and dtype of the output's leaf."""
    if not jnp.issubdtype(out.dtype, jnp.inexact):
        return np.zeros(out.shape, _NO_TANGENT)
    total = [jnp.broadcast_to(term, out.shape) for term in terms if term is not None]
    if not total:
        return jnp.zeros_like(out)
    return functools.reduce(jnp.add, total).astype(out.dtype)
