"""Refuse an equation that runs a program which this package cannot inspect.

A checkpoint that is read as an ordinary operation hides everything inside it: `lint` would find
nothing to report, and a missing gradient would become a zero.
"""

from __future__ import annotations

import enum
import types
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np
from jax.extend import core as jex_core

from jaxgrad._core import hijax, source


# Primitives that count as one operation although a parameter is a function or a jaxpr.
ONE_OPERATION = frozenset((
    # The jaxpr combines two numbers.
    *("reduce", "reduce_window", "select_and_scatter"),
    *("scatter", "scatter-add", "scatter-mul", "scatter-sub", "scatter-min", "scatter-max"),
    *("scatter_add", "scatter_mul", "scatter_sub", "scatter_min", "scatter_max"),
    # A custom rule gives every input a derivative.
    *("custom_linear_solve", "linear_call", "custom_lin", "custom_transpose_call", "remat_opt"),
    *("attach", "linear_by_transpose"),
    # A kernel or a program of another language, or a function of numpy.
    *("pallas_call", "cudnn_fusion", "custom_partitioning", "call_exported", "ffi_call"),
    *("pure_callback", "io_callback", "debug_callback", "debug_print", "buffer_callback"),
    *("inspect_sharding", "schur"),
    # The functions belong to the random number generator.
    *("random_bits", "random_seed", "random_split", "random_fold_in", "random_gamma"),
    *("random_wrap", "random_unwrap", "random_clone"),
))  # fmt: skip
_DEEPEST = 8  # levels of containers and objects
_JAXPRS = (jex_core.Jaxpr, jex_core.ClosedJaxpr)
_PLAIN = (
    *(str, bytes, int, float, complex, type(None), type, types.ModuleType),
    *(enum.Enum, np.dtype, np.generic, np.ndarray, jex_core.Primitive),
    *(jax.sharding.Sharding, jax.sharding.Mesh, jax.sharding.AbstractMesh, jax.Array),
)


def refuse_unknown(eqn: jex_core.JaxprEqn) -> None:
    """Raise if an equation without known bodies contains a program.

    Raises:
        NotImplementedError: The primitive is not in `ONE_OPERATION`, and one of its parameters
            holds a jaxpr or a function, or it is one of JAX's high-level primitives.
    """
    name = eqn.primitive.name
    if name in ONE_OPERATION or hijax.is_renamed(eqn):
        return
    if not (hijax.is_high(eqn) or holds_program(eqn.params)):
        return
    kind = hijax.class_name(eqn)
    flags = hijax.flags(eqn)
    if flags:
        off = " and ".join(f'`jax.config.update("{flag}", False)`' for flag in flags)
        listed, each = ("flags", "them") if len(flags) > 1 else ("flag", "it")
        remedy = (
            f"it may come from JAX's {listed} {' and '.join(flags)}: "
            f"switch {each} off with {off} before the function is defined"
        )
    else:
        remedy = (
            "call the function inside it directly, without the transformation that makes this "
            "primitive, and report the primitive to the authors of jaxgrad"
        )
    raise NotImplementedError(
        f"the primitive {name}{f' ({kind})' if kind else ''} at {_line(eqn)} runs a program that "
        f"jaxgrad cannot look into, so its operations and derivatives are unknown; {remedy}"
    )


def holds_program(value: Any) -> bool:
    """Return whether a value is a jaxpr or a function, or a container or object that holds one."""
    level, seen = [value], {}
    for _ in range(_DEEPEST):
        level = [x for x in level if not isinstance(x, _PLAIN) and not _is_key_dtype(x)]
        if any(isinstance(x, _JAXPRS) or callable(x) for x in level):
            return True
        if not level:
            return False
        new = {id(x): x for x in level if id(x) not in seen}
        seen |= new  # holds the objects, so that no id is reused
        level = [part for x in new.values() for part in _parts(x)]
    return False


def _is_key_dtype(value: Any) -> bool:
    """Return whether a value is the dtype of random keys, which refers to their generator."""
    kind = getattr(value, "type", None)
    return isinstance(kind, type) and issubclass(kind, jax.dtypes.extended)


def _parts(value: Any) -> Iterable[Any]:
    """Return the values that a container or an object refers to."""
    if isinstance(value, dict):
        return value.values()
    if isinstance(value, tuple | list | set | frozenset):
        return value
    parts = [*getattr(value, "__dict__", {}).values()]
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        names = (slots,) if isinstance(slots, str) else slots
        parts += [getattr(value, name, None) for name in names if name != "__weakref__"]
    return parts


def _line(eqn: jex_core.JaxprEqn) -> str:
    place = source.user_place(eqn)
    line = source.source_line(eqn) if place is None else f"{place[0]}:{place[1]}"
    return line or "an unknown line"
