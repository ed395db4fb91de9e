"""A derivative that is computed from packed residuals.

The function is linearized: what the linear map needs is packed, and a checkpoint around the map
unpacks it on the way back. Both steps are ordinary JAX, so that every transformation goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from jax.extend import core as jex_core

from jaxgrad._core import jaxpr as _jaxpr
from jaxgrad._core.attach import attach, hoist, merge, only
from jaxgrad._core.typing import PyTree


Values = Sequence[Any]


def with_packed_residuals(
    fun: Callable[..., Values],
    pack: Callable[[Any], PyTree],
    unpack: Callable[[PyTree], Any],
    *,
    there: int,
) -> Callable[..., Values]:
    """`fun`, from arrays to a list of arrays, differentiated through `unpack(pack(residual))`.

    The first arguments, `there` of them, and views of them are kept as they are.
    """
    called = jax.custom_jvp(fun)

    def rule(primals: Values, tangents: Values) -> Any:
        moved = [not isinstance(t, SymbolicZero) for t in tangents]
        made = _linearize(fun, primals, moved)
        chosen = [
            _is_inexact(x) and not (source and _is_kept_as_it_is(source, there))
            for x, source in zip(made.kept, made.sources, strict=True)
        ]
        types = [jax.typeof(x) if c else None for x, c in zip(made.kept, chosen, strict=True)]
        stored = [_store(pack, x) if c else x for x, c in zip(made.kept, chosen, strict=True)]

        @jax.checkpoint
        def moves(stored: Values, tangents: Values) -> Values:
            kept = [
                x if aval is None else _load(unpack, x, aval)
                for x, aval in zip(stored, types, strict=True)
            ]
            return made.linear(kept, *tangents)

        live = [_is_inexact(x) for x in made.outs]
        still = [np.zeros(x.shape, jax.dtypes.float0) for x in made.outs]
        return made.outs, merge(moves(stored, only(tangents, moved)), live, still)

    called.defjvp(rule, symbolic_zeros=True)
    return called


class _Linearized(NamedTuple):
    outs: Values
    kept: Values
    linear: Callable[..., Values]  # (kept, *tangents) -> tangents of the floating results
    sources: Values  # of what is kept, among the arguments by number


def _linearize(fun: Callable[..., Values], args: Values, moved: Sequence[bool]) -> _Linearized:
    made = []

    def program(*args: Any) -> tuple[Values, Values]:
        def of_moved(*some: Any) -> Any:
            outs = fun(*merge(some, moved, args))
            return [x for x in outs if _is_inexact(x)], outs

        live = only(args, moved)
        _, linear, outs = jax.linearize(of_moved, *live, has_aux=True)
        made.append(hoist(linear, *live))
        return outs, made[0].consts

    closed, shapes = jax.make_jaxpr(program, return_shape=True)(*args)
    values = jex_core.jaxpr_as_fun(closed)(*args)
    outs, kept = jax.tree.unflatten(jax.tree.structure(shapes), values)
    marks = [_jaxpr.Source(k, _jaxpr.GIVEN, "") for k in range(len(args))]
    sources = _jaxpr.sources(closed.jaxpr, marks)
    return _Linearized(outs, kept, made[0].fun, sources[len(outs) :])


def _is_kept_as_it_is(source: _jaxpr.Source, there: int) -> bool:
    if source.kind == _jaxpr.GIVEN:
        return not isinstance(source.key, int) or source.key < there
    return source.kind == _jaxpr.PACK  # of hooks inside of these


def _store(pack: Callable[[Any], PyTree], x: Any) -> Any:
    """What is kept of `x`, and how a second derivative goes on to `x`."""
    packed = pack(x)
    if _is_like(packed, x):
        return attach([packed], x, lambda _, __, ___, moved: [moved], _jaxpr.PACK)[0]
    leaves, structure = jax.tree.flatten(packed)
    mark = jnp.zeros((), x.dtype)
    *leaves, mark = attach([*leaves, mark], x, _refuse(packed, x), _jaxpr.PACK)
    return structure.unflatten(leaves), mark


def _load(unpack: Callable[[PyTree], Any], stored: Any, aval: Any) -> Any:
    like = _is_like(stored, aval)
    made = unpack(stored if like else stored[0])
    if (jnp.shape(made), jnp.result_type(made)) != (aval.shape, aval.dtype):
        raise TypeError(
            f"unpack returned {_name(made)} for what pack was given as {_name(aval)}; "
            "return the same shape and dtype"
        )
    follow = (lambda _, __, ___, moved: [moved]) if like else _refuse(stored[0], aval)
    return attach([made], stored if like else stored[1], follow, "unpack")[0]


def _refuse(packed: PyTree, x: Any) -> Callable[..., Any]:
    types = jax.tree.map(_name, packed)

    def rule(outs: Any, _: Any, __: Any, moved: Any) -> Any:
        if moved is None:
            return [None] * len(outs)
        raise TypeError(
            "a second derivative goes through what saved_tensors_hooks keeps, but pack made "
            f"{types} of {_name(x)}; return one floating point array of the same shape"
        )

    return rule


def _is_inexact(x: Any) -> bool:
    return jnp.issubdtype(x.dtype, jnp.inexact)


def _is_like(packed: Any, x: Any) -> bool:
    """Whether a tangent of the one is, but for its precision, one of the other."""
    return hasattr(packed, "dtype") and _is_inexact(packed) and packed.shape == x.shape


def _name(x: Any) -> str:
    return f"{jnp.result_type(x)}{list(jnp.shape(x))}"
