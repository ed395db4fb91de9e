"""A linear map that is given by its transpose.

`linear(forward, transpose, residuals, tangents, avals)` is a step of a tangent program. Forward
mode runs `forward`; reverse mode runs `transpose`, which may be any function of the cotangents: a
hook that clips, somebody's own backward. What either computes is ordinary JAX, so that the next
derivative goes through it. `jax.custom_derivatives.linear_call` is the same idea, but cannot be
mapped, and a second derivative takes its transpose for linear too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend import core as jex_core
from jax.interpreters import ad, batching, mlir


Values = Sequence[Any]
Forward = Callable[[Any, Values], Values]  # (residuals, tangents) -> tangents of the outputs
# (residuals, cotangents; None where none arrived) -> cotangents of the tangents
Transpose = Callable[[Any, Values], Values]


def linear(
    forward: Forward, transpose: Transpose, residuals: Any, tangents: Values, avals: Values
) -> list[Any]:
    """Apply the map to `tangents`.

    Args:
        forward: May answer None for an output that does not move.
        transpose: May answer None for no cotangent. Is not called if no cotangent arrives.
        residuals: A tree of arrays that both are given.
        tangents: Arrays.
        avals: The types of the outputs.
    """
    leaves, structure = jax.tree.flatten(residuals)
    return _linear_p.bind(
        *leaves,
        *tangents,
        count=len(leaves),
        forward=lambda leaves, moving: forward(structure.unflatten(leaves), moving),
        transpose=lambda leaves, given: transpose(structure.unflatten(leaves), given),
        avals=tuple(aval.update(weak_type=False) for aval in avals),
    )


class Hoisted(NamedTuple):
    fun: Callable[..., Any]  # first argument: consts
    consts: list[Any]
    shapes: Any  # of the result


def hoist(fun: Callable[..., Any], *example: Any) -> Hoisted:
    """Trace `fun` into one that is given, first, what it closed over.

    A transpose may run when the trace that it was written in is over: a value that it closes over
    has to travel as a residual.
    """
    closed, shapes = jax.make_jaxpr(fun, return_shape=True)(*example)
    jaxpr, structure = closed.jaxpr, jax.tree.structure(shapes)

    def hoisted(consts: Values, *args: Any) -> Any:
        run = jex_core.jaxpr_as_fun(jex_core.ClosedJaxpr(jaxpr, list(consts)))
        return structure.unflatten(run(*jax.tree.leaves(args)))

    return Hoisted(hoisted, list(closed.consts), shapes)


def only(values: Iterable[Any], where: Sequence[bool]) -> list[Any]:
    """The values at the places that are true."""
    return [value for value, has in zip(values, where, strict=True) if has]


def merge(values: Iterable[Any], where: Sequence[bool], rest: Iterable[Any] = ()) -> list[Any]:
    """The inverse: the values at the places that are true, the rest's, or None, at the others."""
    left = iter(values)
    others = list(rest) or [None] * len(where)
    return [next(left) if has else other for has, other in zip(where, others, strict=True)]


_linear_p = jex_core.Primitive("linear_by_transpose")
_linear_p.multiple_results = True


def _run(*args: Any, count: int, forward: Forward, avals: Values, **_: Any) -> list[Any]:
    out = forward(args[:count], args[count:])
    return [
        jnp.zeros(a.shape, a.dtype) if o is None else o for o, a in zip(out, avals, strict=True)
    ]


def _jvp(primals: Values, tangents: Values, *, count: int, **params: Any) -> Any:
    """It is linear: the tangent goes the same way, with the residuals at hand."""
    out = _linear_p.bind(*primals, count=count, **params)
    if all(type(t) is ad.Zero for t in tangents[count:]):
        return out, [ad.Zero(a.to_tangent_aval()) for a in params["avals"]]
    moved = [ad.instantiate_zeros(t) for t in tangents[count:]]
    return out, _linear_p.bind(*primals[:count], *moved, count=count, **params)


def _transpose(cotangents: Values, *args: Any, count: int, transpose: Transpose, **_: Any) -> Any:
    nothing = [None] * count
    wanted = args[count:]
    if all(type(c) is ad.Zero for c in cotangents):
        return [*nothing, *(ad.Zero(_aval(w)) for w in wanted)]
    arrived = [None if type(c) is ad.Zero else c for c in cotangents]
    out = transpose(args[:count], arrived)
    return [
        *nothing,
        *(
            None if not ad.is_undefined_primal(w) else ad.Zero(_aval(w)) if o is None else o
            for o, w in zip(out, wanted, strict=True)
        ),
    ]


def _aval(value: Any) -> Any:
    return value.aval if ad.is_undefined_primal(value) else jax.typeof(value)


def _batch(
    axis: Any,
    args: Values,
    dims: Values,
    *,
    count: int,
    forward: Any,
    transpose: Any,
    avals: Values,
) -> Any:
    """What is linear is mapped along its first axis; a residual stays as it is."""
    params = {"count": count, "forward": forward, "transpose": transpose, "avals": avals}
    if all(d is None for d in dims):
        return _linear_p.bind(*args, **params), [None] * len(avals)
    each = functools.partial(
        jax.vmap,
        in_axes=(list(dims[:count]), 0),
        axis_size=axis.size,
        axis_name=axis.name,
        spmd_axis_name=axis.spmd_name,
    )
    params |= {
        "forward": lambda residuals, tangents: each(forward)(list(residuals), list(tangents)),
        "transpose": lambda residuals, given: each(transpose)(list(residuals), list(given)),
        "avals": tuple(jex_core.unmapped_aval(axis.size, 0, aval) for aval in avals),
    }
    wide = [
        batching.bdim_at_front(x, d, axis.size)
        for x, d in zip(args[count:], dims[count:], strict=True)
    ]
    return _linear_p.bind(*args[:count], *wide, **params), [0] * len(avals)


_linear_p.def_impl(_run)
_linear_p.def_abstract_eval(lambda *_, avals, **__: avals)
ad.primitive_jvps[_linear_p] = _jvp
ad.primitive_transposes[_linear_p] = _transpose
batching.fancy_primitive_batchers[_linear_p] = _batch
mlir.register_lowering(_linear_p, mlir.lower_fun(_run, multiple_results=True))
