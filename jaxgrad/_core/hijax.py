"""Read JAX's high-level primitives ("hijax") as the equations that JAX would use without them.

With the flags `jax_remat3`, `jax_custom_vjp3`, `jax_custom_jvp3` and `jax_scan3`, a checkpoint, a
custom rule or a scan is an equation of the primitive `call_hi_primitive`. Its only parameter is an
object whose methods compute the result and the derivatives. JAX 0.12 writes some functions of
`jax.numpy` in the same way without any flag.

This file recognizes the classes of JAX's own objects by their names, and reads their attributes. An
object of any other class stays a `call_hi_primitive`, which `jaxpr/unknown.py` refuses.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import jax
from jax.extend import core as jex_core
from jax.extend.core import primitives


CALL = "call_hi_primitive"
_LINEARIZED = "call_hi_primitive_linearized"
_PARAMS = Mapping[str, Any]


class _Meaning(NamedTuple):
    """The equation that JAX would use without the high-level primitive."""

    name: str
    params: Callable[[jex_core.JaxprEqn, Any], _PARAMS]  # takes the equation and its object


class RenamedPrimitive(jex_core.Primitive):
    """A high-level primitive under its older name; `bind` still runs the original equation."""

    multiple_results = True

    def __init__(self, name: str, eqn: jex_core.JaxprEqn) -> None:
        super().__init__(name)
        self.original = eqn

    def bind(self, *args: Any, **params: Any) -> Any:
        del params  # they describe the older equation
        return self.original.primitive.bind(*args, **self.original.params)


def classic(jaxpr: Any) -> Any:
    """Return an open jaxpr in which each known high-level equation has its older name and params.

    The variables are unchanged. A second call with the same jaxpr returns the same object.
    """
    if not any(eqn.primitive.name.startswith(CALL) for eqn in jaxpr.eqns):
        return jaxpr
    if jaxpr not in _CLASSIC:
        _CLASSIC[jaxpr] = jaxpr.replace(eqns=[_renamed(eqn) for eqn in jaxpr.eqns])
    return _CLASSIC[jaxpr]


def is_high(eqn: jex_core.JaxprEqn) -> bool:
    """Return whether an equation has a high-level primitive, whose computation is a method."""
    test = getattr(eqn.primitive, "is_high", None)  # older versions lack it
    return test is not None and bool(test(*(v.aval for v in eqn.invars), **eqn.params))


def is_renamed(eqn: jex_core.JaxprEqn) -> bool:
    """Return whether `classic` has given an equation its older name."""
    return isinstance(eqn.primitive, RenamedPrimitive)


def class_name(eqn: jex_core.JaxprEqn) -> str:
    """Return the name of the class of a high-level equation's object, or ""."""
    prim = eqn.params.get("_prim")
    return "" if prim is None else type(_unbatched(prim)).__name__


def flags(eqn: jex_core.JaxprEqn) -> tuple[str, ...]:
    """Return the flags that are switched on and may have made an equation with JAX's own object."""
    if not _is_jaxs(eqn):
        return ()
    known = _FLAGS.get(class_name(eqn))
    return tuple(f for f in ((known,) if known else _ALL_FLAGS) if getattr(jax.config, f, False))


def _is_jaxs(eqn: jex_core.JaxprEqn) -> bool:
    """Return whether a high-level equation's object is of a class that JAX defines."""
    return type(_unbatched(eqn.params.get("_prim"))).__module__.partition(".")[0] == "jax"


def _renamed(eqn: jex_core.JaxprEqn) -> jex_core.JaxprEqn:
    meaning = _meaning(eqn)
    if meaning is None:
        return eqn
    params = dict(meaning.params(eqn, eqn.params["_prim"]))
    return eqn.replace(primitive=RenamedPrimitive(meaning.name, eqn), params=params)


def _meaning(eqn: jex_core.JaxprEqn) -> _Meaning | None:
    if eqn.primitive.name == _LINEARIZED:
        return _Meaning("custom_lin", _nothing)
    return _MEANINGS.get(class_name(eqn)) if _is_jaxs(eqn) else None


def _unbatched(prim: Any) -> Any:
    """Return the object inside the wrapper that JAX 0.10 adds under `vmap`."""
    while type(prim).__name__ == "VmapOf":
        prim = prim.prim
    return prim


def _nothing(eqn: jex_core.JaxprEqn, prim: Any) -> _PARAMS:
    del eqn, prim
    return {}


def _remat(eqn: jex_core.JaxprEqn, prim: Any) -> _PARAMS:
    if not hasattr(prim, "jaxpr"):
        return {"jaxpr": _lowered(eqn), "policy": None, "prevent_cse": True}
    cse = getattr(prim, "prevent_cse", True)  # since JAX 0.12
    return {"jaxpr": prim.jaxpr, "policy": prim.policy, "prevent_cse": cse}


def _custom(eqn: jex_core.JaxprEqn, prim: Any) -> _PARAMS:
    jaxpr = getattr(getattr(prim, "traced", None), "jaxpr", None)
    if jaxpr is None or len(jaxpr.in_avals) != len(eqn.invars):
        jaxpr = _lowered(eqn)
    return {"call_jaxpr": jaxpr}


def _jit(eqn: jex_core.JaxprEqn, prim: Any) -> _PARAMS:
    return {"jaxpr": _lowered(eqn), "name": type(prim).__name__.lower(), "inline": False}


def _named(eqn: jex_core.JaxprEqn, prim: Any) -> _PARAMS:
    del eqn
    return {"name": _unbatched(prim).name}


def _lowered(eqn: jex_core.JaxprEqn) -> Any:
    """Trace the computation of a high-level equation into a jaxpr with its function's name."""

    def run(*args: Any) -> Sequence[Any]:
        return eqn.primitive.to_lojax(*args, **eqn.params)

    traced = getattr(_unbatched(eqn.params["_prim"]), "traced", None)
    run.__name__ = getattr(traced, "fun_name", class_name(eqn))
    return jax.make_jaxpr(run)(*(v.aval for v in eqn.invars))


_CUSTOM_JVP = _Meaning("custom_jvp_call", _custom)
_CUSTOM_VJP = _Meaning("custom_vjp_call", _custom)
_NAME = _Meaning("name", _named)
_JIT = _Meaning("jit", _jit)
# By class of the object. A class that is not listed has an unknown derivative.
_MEANINGS = {
    "RematTraced": _Meaning(primitives.remat_p.name, _remat),
    "CheckpointName": _NAME,
    "CheckpointNameFwd": _NAME,
    "PrimalLeftTangentRight": _CUSTOM_VJP,
    "CustomJVPTraced": _CUSTOM_JVP,
    "CustomVJPTraced": _CUSTOM_VJP,
    "OptRemat": _Meaning("remat_opt", _nothing),
    "CustomRoot": _CUSTOM_JVP,
    "_RootLinearMap": _JIT,
    # The derivative of the first two functions is not that of their operations on bits. The other
    # functions are ordinary programs.
    "Ldexp": _Meaning("ldexp", _nothing),
    "Frexp": _Meaning("frexp", _nothing),
    "SearchSorted": _JIT,
    "Nonzero": _JIT,
    "Einsum": _JIT,
}
_FLAGS = {"Scan3": "jax_scan3"}
_ALL_FLAGS = ("jax_remat3", "jax_custom_vjp3", "jax_custom_jvp3", "jax_scan3")
_CLASSIC: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()
