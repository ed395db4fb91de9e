"""Find normalizations in a program: layer, group, batch and root-mean-square norm."""

from __future__ import annotations

from typing import Any

from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core import jaxpr as _jaxpr
from jaxgrad.precision._program import SHAPE, LinkedProgram, Operation, number


# The primitives that compute a mean and a variance.
_STATISTICS = SHAPE | {"reduce_sum", "div", "mul", "sub", "add", "square", "integer_pow", "abs"}
_STATISTICS |= {"max", "stop_gradient", *compat.JIT}


def norm(program: LinkedProgram, eqn: jex_core.JaxprEqn) -> Operation | None:
    """Match `(x - mean) / sqrt(var + eps)`, with scale and bias, given the equation of `sqrt`."""
    argument = eqn.invars[0] if eqn.primitive.name in ("rsqrt", "sqrt") else None
    shifted = program.find_producer(argument, "add") if argument is not None else None
    if shifted is None or number(shifted.invars[1]) is None:
        return None
    variance, inverse, scales = shifted.invars[0], eqn, []
    while (user := program.sole_consumer(inverse, "mul")) and _has_vector(program, user):
        inverse, scales = user, [*scales, user]
    core = program.sole_consumer(inverse, "mul", "div")
    if core is None or (core.primitive.name == "div") != (eqn.primitive.name == "sqrt"):
        return None
    others = [
        v for v in core.invars if program.find_producer(v, inverse.primitive.name) is not inverse
    ]
    if len(others) != 1 or (core.primitive.name == "div" and core.invars[0] is not others[0]):
        return None
    centred = program.find_producer(others[0], "sub")
    x = others[0] if centred is None else centred.invars[0]
    if number(x) is not None:
        return None
    inside: list[jex_core.JaxprEqn] = []
    origin = program.origin(x, SHAPE)
    means = [] if centred is None else [centred.invars[1]]
    leaves = set().union(*(_statistics(program, v, origin, inside) for v in (variance, *means)))
    if not leaves or not all(v is origin or program.is_argument(v) for v in leaves):
        return None
    end = core
    while (user := program.sole_consumer(end, "mul", "add")) and _has_vector(program, user):
        end, scales = user, [*scales, user]
    over_batch = origin not in leaves or any(_over_batch(part) for part in inside)
    parts = [*inside, shifted, eqn, *([centred] if centred is not None else []), core, *scales]
    parts = tuple(part for part in parts if part is not end)
    return Operation("batch_norm" if over_batch else "layer_norm", (x,), parts, end)


def _statistics(program: LinkedProgram, atom: Any, x: Any, inside: list[Any]) -> set[Any]:
    """Return the values from which a mean or a variance is computed, stopping at `x`.

    The equations on the way are appended to `inside`.
    """
    if isinstance(atom, jex_core.Literal) or not _jaxpr.is_inexact(atom):
        return set()
    if atom is x or program.origin(atom, SHAPE) is x:
        return {x}
    eqn = program.producer(atom)
    if eqn is None or eqn.primitive.name not in _STATISTICS:
        return {atom}
    inside.append(eqn)
    return set().union(*(_statistics(program, v, x, inside) for v in eqn.invars))


def _over_batch(eqn: jex_core.JaxprEqn) -> bool:
    """Return whether an equation sums over the first axis but not over all axes."""
    sums = [eqn] if eqn.primitive.name == "reduce_sum" else []
    sums += [p.eqn for s in _jaxpr.inner(eqn) for p in _jaxpr.walk(s)]
    return any(
        e.primitive.name == "reduce_sum"
        and 0 in e.params["axes"]
        and len(e.params["axes"]) < len(_jaxpr.abstract(e.invars[0]).shape)
        for e in sums
    )


def _has_vector(program: LinkedProgram, eqn: jex_core.JaxprEqn) -> bool:
    return any(program.is_vector(v) for v in eqn.invars)
