"""Find out cheaply whether a function is pure: trace it a second time and compare the programs.

`jax.checking_leaks` finds every leak, but it disables JAX's caches and searches all of memory for
each nested trace, which takes minutes on a model of two layers.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad.parity.prove.record.jax_side.flow import place
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram, is_key


class Kept:
    """Wrap a function, and find out whether traced values outlive its traces."""

    def __init__(self, fn: Callable[..., Any]):
        self.fn = fn
        self._inputs: list[weakref.ref[Any]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # A traced value refers to the values it was computed from, so it keeps the inputs alive.
        leaves = jax.tree.leaves((args, kwargs))
        self._inputs = [weakref.ref(x) for x in leaves if compat.is_traced(x)]
        return self.fn(*args, **kwargs)

    @property
    def alive(self) -> bool:
        """Whether a value of the last trace is still alive."""
        for generation in range(3):  # the young objects first: that is fast, and often enough
            if all(ref() is None for ref in self._inputs):
                break
            gc.collect(generation)
        return any(ref() is not None for ref in self._inputs)


def first_difference(first: JaxProgram, second: JaxProgram) -> str | None:
    """Return the place where two traces of one function differ, or None if they are equal."""
    pairs = zip(first.equations.items(), second.equations.items(), strict=False)
    codes = _error_codes(first) | _error_codes(second)
    for known, other in pairs:
        if _described(*known, codes) != _described(*other, codes):
            return place(first, (known[0], 0))
    if len(first.equations) != len(second.equations):
        return "its end"
    captured = zip(first.jaxpr.consts, second.jaxpr.consts, strict=False)
    if len(first.jaxpr.consts) != len(second.jaxpr.consts) or not all(
        x is y or _equal(x, y) for x, y in captured
    ):
        return "a captured array"
    return None


def _error_codes(program: JaxProgram) -> set[Any]:
    """Return the values that number the errors of `checkify.check`: JAX counts up at each trace."""
    checks = [eqn for eqn in program.equations.values() if eqn.primitive.name == "check"]
    return {v for eqn in checks for v in eqn.invars if not isinstance(v, jex_core.Literal)}


def _described(path: Any, eqn: Any, codes: set[Any]) -> tuple[Any, ...]:
    literals = [str(v.val) for v in eqn.invars if isinstance(v, jex_core.Literal)]
    if codes & set(eqn.outvars):
        literals = []
    shapes = [(v.aval.shape, v.aval.dtype) for v in eqn.outvars if hasattr(v.aval, "dtype")]
    return path, eqn.primitive.name, literals, shapes


def _equal(x: Any, y: Any) -> bool:
    arrays = [np.asarray(jax.random.key_data(z) if is_key(z) else z) for z in (x, y)]
    return arrays[0].dtype == arrays[1].dtype and arrays[0].tobytes() == arrays[1].tobytes()


def notes(kept: Kept, program: JaxProgram, again: Callable[[], JaxProgram]) -> Iterator[str]:
    """Yield notes if `fn` keeps traced values or reads other state, and mark its program."""
    if kept.alive:
        yield (
            "fn keeps a traced value after it returns (in a list, a dict, a global or an "
            "attribute); JAX raises UnexpectedTracerError where such a value is used later"
        )
    try:
        difference = first_difference(program, again())
    except Exception as error:
        program.repeatable = False
        text = str(error).strip().split("\n")[0][:200]
        yield (
            f"fn can be traced only once: a second trace raised {type(error).__name__}: {text} "
            "The first trace is compared"
        )
        return
    if difference is not None:
        program.repeatable = False
        yield (
            "fn is not a pure function: a second trace gives a different program, first at "
            f"{difference}, so fn reads state outside its arguments (a cache, a counter, a random "
            "number generator); the first trace is compared"
        )
