"""A value with a derivative of one's own: two primitives that no transformation forgets.

`attach(outs, operands, rule, name)` is `outs`, bit for bit; `rule` says how they move.
`linear(forward, transpose, ...)` is a step of such a rule: a linear map that is given by its
transpose, which may be any function of the cotangents (a hook that clips, somebody's own backward).
What both compute is ordinary JAX, so that the next derivative goes through it, and meets the rule
again.

Why not what jax has: inside a scan, `custom_jvp` loses its rule in the second derivative (jax 0.10
hoists loop invariants with a partial evaluation that runs the body instead), and `custom_vjp` has
no forward mode; `linear_call` cannot be mapped, and takes its transpose for linear.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import jax
from jax.extend import core as jex_core
from jax.interpreters import ad, batching, mlir


Values = Sequence[Any]
# (outs, operands, tangents of the outs, tangents of the operands) -> tangents of the outs
Rule = Callable[[Values, Any, Values, Any], Values]
Forward = Callable[[Any, Values], Values]  # (residuals, tangents) -> tangents of the outputs
Transpose = Callable[[Any, Values], Values]  # (residuals, cotangents) -> cotangents


def attach(outs: Values, operands: Any, rule: Rule, name: str) -> list[Any]:
    """`outs`, whose derivative is what `rule` says.

    Args:
        outs: Arrays.
        operands: A tree of arrays that the rule uses.
        rule: A tangent that is zero is None, given and answered.
        name: What a picture of the graph calls it.
    """
    leaves, structure = jax.tree.flatten(operands)

    def flat(outs: Values, leaves: Values, moving: Values, moved: Values) -> Values:
        made = rule(outs, structure.unflatten(leaves), moving, structure.unflatten(moved))
        return _cast(made, [o.dtype for o in outs])

    return _attach_p.bind(*outs, *leaves, count=len(outs), rule=flat, name=name)


def linear(
    forward: Forward, transpose: Transpose, residuals: Any, tangents: Values, types: Values
) -> list[Any]:
    """Apply a linear map to `tangents`.

    Args:
        forward: May answer None for an output that does not move.
        transpose: A cotangent that is zero is None, given and answered; if all are, it is not
            called.
        residuals: A tree of arrays that both are given.
        tangents: Arrays.
        types: Those of the outputs.
    """
    leaves, structure = jax.tree.flatten(residuals)
    ins, outs = [t.dtype for t in tangents], [t.dtype for t in types]
    return _linear_p.bind(
        *leaves,
        *tangents,
        count=len(leaves),
        forward=lambda leaves, moving: _cast(forward(structure.unflatten(leaves), moving), outs),
        transpose=lambda leaves, given: _cast(transpose(structure.unflatten(leaves), given), ins),
        avals=tuple(t.update(weak_type=False) for t in types),
    )


class Hoisted(NamedTuple):
    fun: Callable[..., Any]  # the first argument is consts
    consts: list[Any]
    shapes: Any  # of the result


def hoist(fun: Callable[..., Any], *example: Any) -> Hoisted:
    """Trace `fun` into one that is given, first, what it closed over.

    A transpose may run when the trace that it was written in is over: a value that it closes over
    has to travel as a residual.
    """
    closed, shapes = jax.make_jaxpr(fun, return_shape=True)(*example)
    jaxpr, structure = closed.jaxpr, jax.tree.structure(shapes)
    dtypes = [x.dtype for x in (*closed.consts, *closed.in_avals)]

    def hoisted(consts: Values, *args: Any) -> Any:
        values = _cast([*consts, *jax.tree.leaves(args)], dtypes)
        run = jex_core.jaxpr_as_fun(jex_core.ClosedJaxpr(jaxpr, values[: len(consts)]))
        return structure.unflatten(run(*values[len(consts) :]))

    return Hoisted(hoisted, list(closed.consts), shapes)


def only(values: Iterable[Any], where: Sequence[bool]) -> list[Any]:
    """The values at the places that are true."""
    return [value for value, has in zip(values, where, strict=True) if has]


def merge(values: Iterable[Any], where: Sequence[bool], rest: Iterable[Any] = ()) -> list[Any]:
    """The inverse: the values at the places that are true, the rest's, or None, at the others."""
    left = iter(values)
    others = list(rest) or [None] * len(where)
    return [next(left) if has else other for has, other in zip(where, others, strict=True)]


def _cast(values: Values, dtypes: Values) -> list[Any]:
    """The values in these dtypes: under autocast a rule may meet others than it was written for."""
    return [
        v if v is None or v.dtype == d else v.astype(d) for v, d in zip(values, dtypes, strict=True)
    ]


# --- the primitives -------------------------------------------------------------------------------


_attach_p, _linear_p = jex_core.Primitive("attach"), jex_core.Primitive("linear_by_transpose")
_attach_p.multiple_results = _linear_p.multiple_results = True


def _attach_run(*args: Any, count: int, **_: Any) -> Values:
    return list(args[:count])


def _attach_jvp(primals: Values, tangents: Values, *, count: int, rule: Any, name: str) -> Any:
    outs = _attach_p.bind(*primals, count=count, rule=rule, name=name)
    moving = [None if type(t) is ad.Zero else t for t in tangents]
    moved = rule(outs, primals[count:], moving[:count], moving[count:])
    return outs, [_zero(o) if t is None else t for o, t in zip(outs, moved, strict=True)]


def _attach_batch(
    axis: Any, args: Values, dims: Values, *, count: int, rule: Any, name: str
) -> Any:
    if all(d is None for d in dims):
        return _attach_p.bind(*args, count=count, rule=rule, name=name), [None] * count
    own = tuple(dims[count:])

    def mapped(outs: Values, operands: Values, moving: Values, moved: Values) -> Values:
        each = _each(axis, (0, list(own), 0, list(own)))(rule)
        return each(list(outs), list(operands), list(moving), list(moved))

    wide = _at_front(axis, args[:count], dims[:count])
    outs = _attach_p.bind(*wide, *args[count:], count=count, rule=mapped, name=name)
    return outs, [0] * count


def _linear_run(*args: Any, count: int, forward: Forward, avals: Values, **_: Any) -> Values:
    out = forward(args[:count], args[count:])
    return [ad.zeros_like_aval(a) if o is None else o for o, a in zip(out, avals, strict=True)]


def _linear_jvp(primals: Values, tangents: Values, *, count: int, **params: Any) -> Any:
    """The tangent goes the same way as the value; it is linear, whatever the transpose is."""
    outs = _linear_p.bind(*primals, count=count, **params)
    if all(type(t) is ad.Zero for t in tangents[count:]):
        return outs, [_zero(o) for o in outs]
    moving = [ad.instantiate_zeros(t) for t in tangents[count:]]
    return outs, _linear_p.bind(*primals[:count], *moving, count=count, **params)


def _linear_transpose(
    cotangents: Values, *args: Any, count: int, transpose: Transpose, **_: Any
) -> Values:
    given = [None if type(c) is ad.Zero else c for c in cotangents]
    if all(c is None for c in given):
        return [None] * len(args)
    return [*[None] * count, *transpose(args[:count], given)]


def _linear_batch(
    axis: Any,
    args: Values,
    dims: Values,
    *,
    count: int,
    forward: Any,
    transpose: Any,
    avals: Values,
) -> Any:
    params = {"count": count, "forward": forward, "transpose": transpose, "avals": avals}
    if all(d is None for d in dims):
        return _linear_p.bind(*args, **params), [None] * len(avals)
    each = _each(axis, (list(dims[:count]), 0))
    params |= {
        "forward": lambda residuals, moving: each(forward)(list(residuals), list(moving)),
        "transpose": lambda residuals, given: each(transpose)(list(residuals), list(given)),
        "avals": tuple(jex_core.unmapped_aval(axis.size, 0, aval) for aval in avals),
    }
    wide = _at_front(axis, args[count:], dims[count:])
    return _linear_p.bind(*args[:count], *wide, **params), [0] * len(avals)


def _each(axis: Any, in_axes: Any) -> Callable[[Any], Any]:
    """`vmap` along the axis that is being mapped; a None stays a None."""
    return functools.partial(
        jax.vmap,
        in_axes=in_axes,
        axis_size=axis.size,
        axis_name=axis.name,
        spmd_axis_name=axis.spmd_name,
    )


def _at_front(axis: Any, values: Values, dims: Values) -> list[Any]:
    return [batching.bdim_at_front(x, d, axis.size) for x, d in zip(values, dims, strict=True)]


def _zero(value: Any) -> ad.Zero:
    return ad.Zero(jax.typeof(value).to_tangent_aval())


_attach_p.def_impl(_attach_run)
_attach_p.def_abstract_eval(lambda *avals, count, **_: avals[:count])
ad.primitive_jvps[_attach_p] = _attach_jvp
batching.fancy_primitive_batchers[_attach_p] = _attach_batch
mlir.register_lowering(_attach_p, mlir.lower_fun(_attach_run, multiple_results=True))

_linear_p.def_impl(_linear_run)
_linear_p.def_abstract_eval(lambda *_, avals, **__: avals)
ad.primitive_jvps[_linear_p] = _linear_jvp
ad.primitive_transposes[_linear_p] = _linear_transpose
batching.fancy_primitive_batchers[_linear_p] = _linear_batch
mlir.register_lowering(_linear_p, mlir.lower_fun(_linear_run, multiple_results=True))
