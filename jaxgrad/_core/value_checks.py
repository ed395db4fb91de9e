"""Check values under `checkify.checkify` alone, at no cost elsewhere.

`checkify.debug_check` gives a program an effect. JAX then calls the compiled program through Python
instead of its fast path, which takes about 0.1 ms for each parameter of a model. The primitive here
has no effect. `checkify` gets a rule for it, which is that of `debug_check`.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import checkify
from jax.extend import core as jex_core
from jax.interpreters import ad, batching, mlir, partial_eval


def check_under_checkify(holds: jax.Array, message: str) -> None:
    """Let `checkify.checkify` report an error if a traced array has an element that is false.

    Args:
        holds: An array of bools of any shape.
        message: The text of the error.
    """
    if _HAS_RULE:
        _check_p.bind(holds, message=message)
    else:
        _debug_check(holds, message)


def _debug_check(holds: jax.Array, message: str) -> None:
    """Call JAX's own check, whose message is a format."""
    checkify.debug_check(jnp.all(holds), message.replace("{", "{{").replace("}", "}}"))


def _discharge(*given: Any, message: str) -> tuple[Any, Sequence[Any]]:
    """Return the error of `checkify` after a check; the rule of `debug_check` makes it.

    JAX gives the error so far, the enabled errors and the array, since 0.12 after a context.
    """
    *context, error, enabled, holds = given
    check = jax.make_jaxpr(lambda holds: _debug_check(holds, message))(holds)
    error, _ = _CHECKIFY["checkify_jaxpr"](*context, check, enabled, error, holds)
    return error, []


def _same(args: Any, _: Any, *, message: str) -> tuple[Sequence[Any], Sequence[Any]]:
    """Check the same values again, without tangents or batch dimensions."""
    _check_p.bind(*args, message=message)
    return [], []


def _kept(*given: Any) -> tuple[list[bool], Any]:
    """Keep a check in a program, although nothing reads it.

    JAX gives what is used, since 0.12 what is live, and the equation.
    """
    eqn = given[-1]
    return [True] * len(eqn.invars), eqn


_check_p = jex_core.Primitive("check_value")
_check_p.multiple_results = True  # none
_check_p.def_impl(lambda *_, **__: [])
_check_p.def_abstract_eval(lambda *_, **__: [])
ad.primitive_jvps[_check_p] = _same
batching.primitive_batchers[_check_p] = _same
mlir.register_lowering(_check_p, lambda *_, **__: [])

# `checkify` has no public way to add a rule. Where its table has another name, the checks are those
# of `debug_check`, with their cost.
_CHECKIFY = inspect.unwrap(checkify.debug_check).__globals__
_HAS_RULE = {"error_checks", "checkify_jaxpr"} <= set(_CHECKIFY) and hasattr(
    partial_eval, "dce_rules"
)
if _HAS_RULE:
    _CHECKIFY["error_checks"][_check_p] = _discharge
    partial_eval.dce_rules[_check_p] = _kept
