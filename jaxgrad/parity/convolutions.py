"""Convolutions in float64, in the forms that XLA computes fast on a CPU.

XLA calls a fast kernel for a convolution in float64 only if it has no groups, no dilation of the
input and little padding. Gradients have all of these, and then take 40 to 100 times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from jaxgrad._core import compat
from jaxgrad._core.jaxpr import Path, evaluate, inner, plain, walk


def with_fast_convolutions(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function with the same results, whose convolutions in float64 run fast."""

    def faster(*args: Any) -> Any:
        jaxpr, shapes = jax.make_jaxpr(fun, return_shape=True)(*args)
        inside = {place.path for place in walk(jaxpr) if any(map(_has_slow, inner(place.eqn)))}
        leaves = [jnp.asarray(x) for x in jax.tree.leaves(args)]
        outs, _ = evaluate(jaxpr, leaves, _rule, enters=inside.__contains__)
        return jax.tree.unflatten(jax.tree.structure(shapes), outs)

    return faster


def _has_slow(jaxpr: Any) -> bool:
    return any(is_slow(place.eqn) for place in walk(jaxpr))


def is_slow(eqn: Any) -> bool:
    """Return whether an equation is a convolution that XLA computes without its fast kernel."""
    if eqn.primitive.name != "conv_general_dilated" or eqn.outvars[0].aval.dtype != jnp.float64:
        return False
    params = eqn.params
    groups = params["feature_group_count"], params["batch_group_count"]
    return max(groups) > 1 or max(params["lhs_dilation"]) > 1 or _is_padded_much(eqn)


def _is_padded_much(eqn: Any) -> bool:
    """Return whether the padding is more than half of the kernel."""
    params = eqn.params
    _, _, *dims = params["dimension_numbers"].rhs_spec
    extents = [
        dilation * (eqn.invars[1].aval.shape[d] - 1)
        for d, dilation in zip(dims, params["rhs_dilation"], strict=True)
    ]
    return any(2 * max(pads) > n for pads, n in zip(params["padding"], extents, strict=True))


def _rule(eqn: Any, path: Path, args: list[Any], slot: Any) -> tuple[list[Any], Any]:
    if not is_slow(eqn):
        return plain(eqn, path, args, slot)
    params, (x, w) = eqn.params, args
    numbers = params["dimension_numbers"]
    x = _padded(x, numbers.lhs_spec[2:], params["padding"], params["lhs_dilation"])
    still = (1,) * len(params["padding"])
    options = dict(padding=((0, 0),) * len(still), lhs_dilation=still)
    options |= dict(feature_group_count=1, batch_group_count=1)

    def convolve(x: Any, w: Any) -> Any:
        return compat.bind(eqn, [x, w], **options)[0]

    for name, dim in (("feature_group_count", 1), ("batch_group_count", 0)):
        if params[name] > 1:
            x = _split(x, numbers.lhs_spec[dim], params[name])
            w = _split(w, numbers.rhs_spec[0], params[name])
            y = lax.map(lambda pair: convolve(*pair), (x, w))
            return [_joined(y, numbers.out_spec[1])], None
    return [convolve(x, w)], None


def _padded(
    x: Any, dims: Sequence[int], padding: Sequence[tuple[int, int]], dilation: Sequence[int]
) -> Any:
    """Add the padding and the zeros between elements; XLA does not move them back."""
    ends = [(0, 0, 0)] * x.ndim
    for dim, (low, high), step in zip(dims, padding, dilation, strict=True):
        ends[dim] = (low, high, step - 1)
    if not any(map(any, ends)):
        return x
    return lax.optimization_barrier(lax.pad(x, jnp.zeros((), x.dtype), ends))


def _split(x: Any, dim: int, groups: int) -> Any:
    """Split a dimension into groups, which become the first dimension."""
    x = x.reshape(*x.shape[:dim], groups, x.shape[dim] // groups, *x.shape[dim + 1 :])
    return jnp.moveaxis(x, dim, 0)


def _joined(x: Any, dim: int) -> Any:
    """Put the groups, the first dimension, back in front of the elements of a dimension."""
    x = jnp.moveaxis(x, 0, dim)
    return x.reshape(*x.shape[:dim], -1, *x.shape[dim + 2 :])
