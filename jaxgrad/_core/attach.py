"""Attach a derivative to a value: two primitives whose rules survive every transformation.

`attach(outs, operands, rule, name)` returns `outs`, bit for bit; `rule` computes their tangents.
`linear(forward, transpose, ...)` is a step of such a rule: a linear map with an explicit transpose,
which may be any function of the cotangents (a hook that clips, a user's own backward). Both run
ordinary JAX operations, so a second derivative differentiates through them and uses the rule again.

JAX's own tools do not suffice. Inside a scan, `custom_jvp` loses its rule in the second derivative
(JAX 0.10 hoists loop invariants with a partial evaluation that runs the body instead), `custom_vjp`
has no forward mode, and `linear_call` has no batching rule and assumes a linear transpose.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
from jax.extend import core as jex_core
from jax.interpreters import ad, batching, mlir

from jaxgrad._core.tree import is_none


Values = Sequence[Any]
# (outs, operands, tangents of the outs, tangents of the operands) -> tangents of the outs
JvpRule = Callable[[Values, Any, Values, Any], Values]
Forward = Callable[[Any, Values], Values]  # (residuals, tangents) -> tangents of the outputs
Transpose = Callable[[Any, Values], Values]  # (residuals, cotangents) -> cotangents of the inputs


def attach(outs: Values, operands: Any, rule: JvpRule, name: str) -> list[Any]:
    """Return `outs` with the derivative that `rule` computes.

    Args:
        outs: Arrays.
        operands: A tree of arrays that the rule uses.
        rule: See `JvpRule`. None stands for a zero tangent, as an argument and as a result.
        name: Operation name that a drawn graph shows.
    """
    leaves, structure = jax.tree.flatten(operands)

    def flat(outs: Values, leaves: Values, tangents: Values, operand_tangents: Values) -> Values:
        operands = structure.unflatten(leaves), structure.unflatten(operand_tangents)
        return _cast(rule(outs, operands[0], tangents, operands[1]), [o.dtype for o in outs])

    return _attach_p.bind(*outs, *leaves, count=len(outs), rule=flat, name=name)


def pass_operand_tangents(outs: Values, operands: Any, tangents: Values, new: Any) -> Values:
    """Return each operand's tangent as its output's tangent: the straight-through rule."""
    del outs, operands, tangents
    return jax.tree.leaves(new, is_leaf=is_none)


def linear(
    forward: Forward, transpose: Transpose, residuals: Any, tangents: Values, types: Values
) -> list[Any]:
    """Apply a linear map to `tangents`.

    Args:
        forward: See `Forward`. A result of None stands for zero.
        transpose: See `Transpose`. None stands for a zero cotangent, as an argument and as a
            result; it is not called if all arguments are zero.
        residuals: A tree of arrays, passed to both functions.
        tangents: The arrays to map.
        types: The abstract values of the outputs.
    """
    leaves, structure = jax.tree.flatten(residuals)
    ins, outs = [t.dtype for t in tangents], [t.dtype for t in types]
    return _linear_p.bind(
        *leaves,
        *tangents,
        count=len(leaves),
        forward=lambda leaves, ts: _cast(forward(structure.unflatten(leaves), ts), outs),
        transpose=lambda leaves, cts: _cast(transpose(structure.unflatten(leaves), cts), ins),
        avals=tuple(t.update(weak_type=False) for t in types),
    )


class Hoisted(NamedTuple):
    fun: Callable[..., Any]  # takes consts as its first argument
    consts: list[Any]
    shapes: Any  # the shapes and dtypes of the result


def hoist(fun: Callable[..., Any], *example: Any) -> Hoisted:
    """Trace `fun` into a function that takes the captured values as its first argument.

    A transpose may run after the trace in which it was defined has ended, so every value that it
    captures must be passed to it as a residual.
    """
    closed, shapes = jax.make_jaxpr(fun, return_shape=True)(*example)
    jaxpr, structure = closed.jaxpr, jax.tree.structure(shapes)
    dtypes = [x.dtype for x in (*closed.consts, *closed.in_avals)]

    def hoisted(consts: Values, *args: Any) -> Any:
        values = _cast([*consts, *jax.tree.leaves(args)], dtypes)
        run = jex_core.jaxpr_as_fun(jex_core.ClosedJaxpr(jaxpr, values[: len(consts)]))
        return structure.unflatten(run(*values[len(consts) :]))

    return Hoisted(hoisted, list(closed.consts), shapes)


def _cast(values: Values, dtypes: Values) -> list[Any]:
    """Cast the values to `dtypes`; autocast may run a rule in dtypes other than the traced ones."""
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
    tangents = [None if type(t) is ad.Zero else t for t in tangents]
    new = rule(outs, primals[count:], tangents[:count], tangents[count:])
    return outs, [_zero(o) if t is None else t for o, t in zip(outs, new, strict=True)]


def _attach_batch(
    axis: Any, args: Values, dims: Values, *, count: int, rule: Any, name: str
) -> Any:
    if all(d is None for d in dims):
        return _attach_p.bind(*args, count=count, rule=rule, name=name), [None] * count
    operand_dims = list(dims[count:])

    def mapped(*args: Values) -> Values:  # the arguments of a `JvpRule`
        each = _each(axis, (0, operand_dims, 0, operand_dims))(rule)
        return each(*map(list, args))

    wide = _at_front(axis, args[:count], dims[:count])
    outs = _attach_p.bind(*wide, *args[count:], count=count, rule=mapped, name=name)
    return outs, [0] * count


def _linear_run(*args: Any, count: int, forward: Forward, avals: Values, **_: Any) -> Values:
    out = forward(args[:count], args[count:])
    return [ad.zeros_like_aval(a) if o is None else o for o, a in zip(out, avals, strict=True)]


def _linear_jvp(primals: Values, tangents: Values, *, count: int, **params: Any) -> Any:
    """Apply the same map to the tangents: `forward` is linear, whatever the transpose is."""
    outs = _linear_p.bind(*primals, count=count, **params)
    if all(type(t) is ad.Zero for t in tangents[count:]):
        return outs, [_zero(o) for o in outs]
    dense = [ad.instantiate_zeros(t) for t in tangents[count:]]
    return outs, _linear_p.bind(*primals[:count], *dense, count=count, **params)


def _linear_transpose(
    cotangents: Values, *args: Any, count: int, transpose: Transpose, **_: Any
) -> Values:
    cotangents = [None if type(c) is ad.Zero else c for c in cotangents]
    if all(c is None for c in cotangents):
        return [None] * len(args)
    return [*[None] * count, *transpose(args[:count], cotangents)]


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
        "forward": lambda residuals, ts: each(forward)(list(residuals), list(ts)),
        "transpose": lambda residuals, cts: each(transpose)(list(residuals), list(cts)),
        "avals": tuple(jex_core.unmapped_aval(axis.size, 0, aval) for aval in avals),
    }
    wide = _at_front(axis, args[count:], dims[count:])
    return _linear_p.bind(*args[:count], *wide, **params), [0] * len(avals)


def _each(axis: Any, in_axes: Any) -> Callable[[Any], Any]:
    """Return `jax.vmap` set up for the axis that a batching rule receives."""
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
