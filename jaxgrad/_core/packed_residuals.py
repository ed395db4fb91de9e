"""Compute a derivative from packed residuals.

The function is linearized, the residuals of the linear map are packed, and a checkpoint around the
map unpacks them in the backward pass. Both steps are ordinary JAX, so all transformations compose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero
from jax.extend import core as jex_core
from jax.extend.core import primitives

from jaxgrad._core import compat
from jaxgrad._core import jaxpr as _jaxpr
from jaxgrad._core.attach import attach, hoist, pass_operand_tangents
from jaxgrad._core.tree import is_inexact, merge, select
from jaxgrad._core.typing import PyTree


Values = Sequence[Any]


def with_packed_residuals(
    fun: Callable[..., Values],
    pack: Callable[[Any], PyTree],
    unpack: Callable[[PyTree], Any],
    *,
    num_unpacked_args: int,
) -> Callable[..., Values]:
    """Differentiate `fun`, which maps arrays to a list of arrays, through packed residuals.

    The first `num_unpacked_args` arguments, and views of them, are kept without packing.
    """
    called = jax.custom_jvp(fun)

    def rule(primals: Values, tangents: Values) -> Any:
        moving = [not isinstance(t, SymbolicZero) for t in tangents]
        outs, residuals, linear, sources = _linearize(fun, primals, moving)
        packs = [
            is_inexact(x) and not (source and _stays_unpacked(source, num_unpacked_args))
            for x, source in zip(residuals, sources, strict=True)
        ]
        types = [jax.typeof(x) if p else None for x, p in zip(residuals, packs, strict=True)]
        stored = [_store(pack, x) if p else x for x, p in zip(residuals, packs, strict=True)]

        def out_tangents(stored: Values, tangents: Values) -> Values:
            loaded = [
                x if aval is None else _load(unpack, x, aval)
                for x, aval in zip(stored, types, strict=True)
            ]
            return linear(loaded, *tangents)

        live = [is_inexact(x) for x in outs]
        zeros = [np.zeros(x.shape, jax.dtypes.float0) for x in outs if not is_inexact(x)]
        tangents_out = _recomputed(out_tangents, stored, select(moving, tangents))
        return outs, merge(live, tangents_out, zeros)

    called.defjvp(rule, symbolic_zeros=True)
    return called


def _recomputed(fun: Callable[..., Values], *args: PyTree) -> Values:
    """Call a function that returns a list of arrays in a checkpoint.

    With the flag `jax_remat3`, a `jax.checkpoint` has no transpose, so the older primitive is used.
    """
    if not getattr(jax.config, "jax_remat3", False):
        return jax.checkpoint(fun)(*args)
    run, consts, _ = hoist(fun, *args)
    leaves, structure = jax.tree.flatten((consts, *args))

    def flat(*leaves: Any) -> Values:
        return run(*structure.unflatten(leaves))

    jaxpr, _ = compat.open_jaxpr(jax.make_jaxpr(flat)(*leaves))
    options = {"prevent_cse": True, "differentiated": False, "policy": None}
    return primitives.remat_p.bind(*leaves, jaxpr=jaxpr, **options)


class _Linearized(NamedTuple):
    outs: Values
    residuals: Values
    linear: Callable[..., Values]  # (residuals, *tangents) -> tangents of the floating outputs
    sources: Values  # the source of each residual; arguments are identified by their number


def _linearize(fun: Callable[..., Values], args: Values, moving: Sequence[bool]) -> _Linearized:
    hoisted = []

    def program(*args: Any) -> tuple[Values, Values]:
        fixed = select([not m for m in moving], args)

        def of_moving(*primals: Any) -> Any:
            outs = fun(*merge(moving, primals, fixed))
            return [x for x in outs if is_inexact(x)], outs

        primals = select(moving, args)
        _, linear, outs = jax.linearize(of_moving, *primals, has_aux=True)
        hoisted.append(hoist(linear, *primals))
        return outs, hoisted[0].consts

    closed, shapes = jax.make_jaxpr(program, return_shape=True)(*args)
    values = jex_core.jaxpr_as_fun(closed)(*args)
    outs, residuals = jax.tree.unflatten(jax.tree.structure(shapes), values)
    arguments = [_jaxpr.Source(k, _jaxpr.GIVEN, "") for k in range(len(args))]
    sources = _jaxpr.sources(closed.jaxpr, arguments)
    return _Linearized(outs, residuals, hoisted[0].fun, sources[len(outs) :])


def _stays_unpacked(source: _jaxpr.Source, num_unpacked_args: int) -> bool:
    if source.kind == _jaxpr.GIVEN:
        return not isinstance(source.key, int) or source.key < num_unpacked_args
    return source.kind == _jaxpr.PACK  # nested hooks have already packed it


def _store(pack: Callable[[Any], PyTree], x: Any) -> Any:
    """Pack a residual; its second derivative bypasses the hooks and uses `x`, or raises."""
    packed = pack(x)
    if _is_like(packed, x):
        return attach([packed], x, pass_operand_tangents, _jaxpr.PACK)[0]
    leaves, structure = jax.tree.flatten(packed)
    mark = jnp.zeros((), x.dtype)
    *leaves, mark = attach([*leaves, mark], x, _refuse(packed, x), _jaxpr.PACK)
    return structure.unflatten(leaves), mark


def _load(unpack: Callable[[PyTree], Any], stored: Any, aval: Any) -> Any:
    """Unpack a residual and check that it has the packed value's shape and dtype."""
    like = _is_like(stored, aval)
    value = unpack(stored if like else stored[0])
    if (jnp.shape(value), jnp.result_type(value)) != (aval.shape, aval.dtype):
        raise TypeError(
            f"unpack returned {_name(value)}, but pack was given {_name(aval)}; "
            "return the same shape and dtype"
        )
    rule = pass_operand_tangents if like else _refuse(stored[0], aval)
    return attach([value], stored if like else stored[1], rule, "unpack")[0]


def _refuse(packed: PyTree, x: Any) -> Callable[..., Any]:
    """Return a tangent rule that raises if a second derivative needs the packed value."""
    types = jax.tree.map(_name, packed)

    def rule(outs: Any, _: Any, __: Any, tangent: Any) -> Any:
        if tangent is None:
            return [None] * len(outs)
        raise TypeError(
            "a second derivative needs the residuals of saved_tensors_hooks, but pack turned "
            f"{_name(x)} into {types}; return one floating point array of the same shape"
        )

    return rule


def _is_like(packed: Any, x: Any) -> bool:
    """Return whether a tangent of `packed` is, up to its precision, a tangent of `x`."""
    return is_inexact(packed) and packed.shape == x.shape


def _name(x: Any) -> str:
    return f"{jnp.result_type(x)}{list(jnp.shape(x))}"
