"""Find groups of equations that torch computes as one operation, such as `mean` or `layer_norm`.

A `mean` is two equations in a jaxpr and a `layer_norm` a dozen; torch computes each in float32 and
rounds once, at the end. Each pattern takes one equation as the possible end of an operation and
returns the whole operation or None.
"""

from __future__ import annotations

import math
from typing import Any

from jax.extend import core as jex_core

from jaxgrad._core import jaxpr as _jaxpr
from jaxgrad.precision._lists import NAMED, PRODUCTS
from jaxgrad.precision._norm import norm
from jaxgrad.precision._program import PART, LinkedProgram, Operation, contracts, number


def operations(program: LinkedProgram) -> dict[Any, Operation]:
    """Map the first output of each equation in an operation to that operation."""
    operation_of: dict[Any, Operation] = {}
    for pattern in (named, mean, pool, loss, softmax, logsumexp, gate, linear, norm):
        for eqn in program.eqns:
            match = pattern(program, eqn)
            if match is not None:
                operation_of |= {e.outvars[0]: match for e in (*match.inside, match.end)}
    return operation_of


def named(program: LinkedProgram, eqn: jex_core.JaxprEqn) -> Operation | None:
    """Match a JAX library function that is a `jit` or custom rule with a known name."""
    name = NAMED.get(eqn.params.get("name", ""))
    arrays = [v for v in eqn.invars if _jaxpr.is_inexact(v) and _jaxpr.abstract(v).shape]
    if name is None or len(arrays) != 1 or len(eqn.outvars) != 1 or not _jaxpr.inner(eqn):
        return None
    inside = [place.eqn.primitive.name for place in _jaxpr.walk(_jaxpr.inner(eqn)[0])]
    if (PRODUCTS & set(inside) and name != "upsample") or {"scan", "while", "cond"} & set(inside):
        return None
    if name == "log_softmax" and _is_picked(program, eqn):
        name = "cross_entropy_loss"
    return Operation(name, tuple(arrays), (), eqn)


def mean(program: LinkedProgram, eqn: jex_core.JaxprEqn) -> Operation | None:
    """Match a sum divided by its number of terms: a mean, or average pooling over windows."""
    if eqn.primitive.name not in ("div", "mul") or number(eqn.invars[1]) is None:
        return None
    total = program.find_producer(eqn.invars[0], "reduce_sum", "reduce_window_sum")
    if total is None or not program.feeds_only(total, eqn):
        return None
    if total.primitive.name == "reduce_sum":
        name, count = "mean", _size(total.invars[0]) / max(1, _size(total.outvars[0]))
    else:
        sizes = [n for n in total.params["window_dimensions"] if n > 1]
        name, count = f"avg_pool{len(sizes)}d", math.prod(sizes)
    factor = number(eqn.invars[1]) or math.nan
    divisor = factor if eqn.primitive.name == "div" else 1 / factor
    same = math.isclose(divisor, count, rel_tol=1e-3)
    return Operation(name, (total.invars[0],), (total,), eqn) if same else None


def pool(program: LinkedProgram, eqn: jex_core.JaxprEqn) -> Operation | None:
    """Match a maximum over windows: max pooling."""
    del program
    if eqn.primitive.name != "reduce_window_max":
        return None
    sizes = [n for n in eqn.params["window_dimensions"] if n > 1]
    return Operation(f"max_pool{len(sizes)}d", (eqn.invars[0],), (), eqn)


def loss(program: LinkedProgram, eqn: jex_core.JaxprEqn) -> Operation | None:
    """Match the sum or mean of all squared or absolute differences: an MSE or L1 loss."""
    if eqn.primitive.name != "reduce_sum" or _jaxpr.abstract(eqn.outvars[0]).shape:
        return None
    power = program.find_producer(eqn.invars[0], "integer_pow", "square", "abs", "mul")
    if power is None or power.params.get("y", 2) != 2 or not program.feeds_only(power, eqn):
        return None
    difference = program.find_producer(power.invars[0], "sub")
    if difference is None or any(v is not power.invars[0] for v in power.invars):
        return None
    if not program.feeds_only(difference, power) or not _same_shapes(program, difference):
        return None
    user = program.sole_consumer(eqn, "div", "mul")
    end = user if user is not None and mean(program, user) else eqn
    return Operation("mse_loss", tuple(difference.invars), (difference, power, eqn), end)


def softmax(program: LinkedProgram, eqn: jex_core.JaxprEqn) -> Operation | None:
    """Match `exp(x - max) / sum(exp(x - max))`."""
    if eqn.primitive.name != "div":
        return None
    power = program.producer(eqn.invars[0])
    total = program.find_producer(eqn.invars[1], "reduce_sum")
    if power is None or power.primitive.name != "exp" or total is None:
        return None
    if total.invars[0] is not eqn.invars[0] or not program.feeds_only(total, eqn):
        return None
    x, shift = _shift(program, power, power)
    return Operation("softmax", (x,), (*shift, power, total), eqn)


def logsumexp(program: LinkedProgram, eqn: jex_core.JaxprEqn) -> Operation | None:
    """Match `log(sum(exp(x - max))) + max`; minus an entry of `x`, it is the cross entropy."""
    size = program.find_producer(eqn.invars[0], "abs") if eqn.primitive.name == "log" else None
    argument = size.invars[0] if size is not None else eqn.invars[0] if eqn.invars else None
    total = program.find_producer(argument, "reduce_sum") if eqn.primitive.name == "log" else None
    power = program.find_producer(total.invars[0], "exp") if total is not None else None
    if total is None or power is None:
        return None
    end = program.sole_consumer(eqn, "add", "sub")
    if end is None:
        x, shift = _shift(program, power, power)
        return Operation("logsumexp", (x,), (*shift, power, total), eqn)
    x, shift = _shift(program, power, power, end)
    inside = (*shift, power, total, *([size] if size is not None else []), eqn)
    if end.primitive.name == "sub":
        log_softmax = end.invars[0] is power.invars[0]
        return Operation("log_softmax", (x,), inside, end) if log_softmax else None
    difference = program.sole_consumer(end, "sub")
    if difference is not None:
        label = program.origin(difference.invars[1], PART | {"gather"})
        if label is program.origin(x) and program.find_producer(difference.invars[0], "add") is end:
            return Operation("cross_entropy_loss", (x,), (*inside, end), difference)
    return Operation("logsumexp", (x,), inside, end)


def gate(program: LinkedProgram, eqn: jex_core.JaxprEqn) -> Operation | None:
    """Match `x` times a gate that depends on `x` alone: gelu or silu."""
    if eqn.primitive.name != "mul":
        return None
    halves = [program.find_producer(v, "mul") for v in eqn.invars]  # `0.5 * x`
    candidates = [*eqn.invars, *(v for half in halves if half is not None for v in half.invars)]
    for x in [v for v in candidates if isinstance(v, jex_core.Var)]:
        inside: list[jex_core.JaxprEqn] = []
        factors = [_elementwise_sources(program, atom, x, inside) for atom in eqn.invars]
        gates = _GATES & {part.primitive.name for part in inside}
        private = all(program.feeds_only(part, *inside, eqn) for part in inside)
        if gates and private and factors == [{x}, {x}]:
            return Operation("gelu", (x,), tuple(inside), eqn)
    return None


_GATES = {"tanh", "erf", "erfc", "logistic"}
_ELEMENTWISE = _GATES | {"mul", "add", "sub", "neg", "div", "integer_pow", "square", "copy"}


def _elementwise_sources(program: LinkedProgram, atom: Any, x: Any, inside: list[Any]) -> set[Any]:
    """Return the values from which elementwise equations compute `atom`, stopping at `x`.

    The equations are appended to `inside`.
    """
    if isinstance(atom, jex_core.Literal):
        return set()
    eqn = program.producer(atom)
    if atom is x or eqn is None or eqn.primitive.name not in _ELEMENTWISE:
        return {atom}
    inputs = [_elementwise_sources(program, v, x, inside) for v in eqn.invars]
    inside.append(eqn)
    return set().union(*inputs)


def linear(program: LinkedProgram, eqn: jex_core.JaxprEqn) -> Operation | None:
    """Match a matrix product plus a bias."""
    if eqn.primitive.name != "add":
        return None
    for atom, bias in (eqn.invars, eqn.invars[::-1]):
        if program.is_linear(atom) and program.is_bias(bias):
            product = program.find_producer(atom, *PRODUCTS)
            once = product is not None and contracts(product) and program.feeds_only(product, eqn)
            return Operation("linear", (atom,), (product,) if product and once else (), eqn)
    return None


def _shift(program: LinkedProgram, power: Any, *users: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the `x` of `exp(x - max)`, and the subtraction if only `users` consume it."""
    shift = program.find_producer(power.invars[0], "sub")
    if shift is None or not program.feeds_only(shift, *users):
        return power.invars[0], ()
    return shift.invars[0], (shift,)


def _is_picked(program: LinkedProgram, eqn: jex_core.JaxprEqn) -> bool:
    """Return whether only indexed entries are used, such as the labels' log-probabilities."""
    negated = program.sole_consumer(eqn, "neg")
    users = program.consumers(negated if negated is not None else eqn)
    names = {"take_along_axis", "_take", "take"}
    return len(users) > 0 and all(
        user is not None and (user.primitive.name == "gather" or user.params.get("name") in names)
        for user in users
    )


def _same_shapes(program: LinkedProgram, eqn: jex_core.JaxprEqn) -> bool:
    """Return whether neither input of an equation was broadcast, as a subtracted mean is."""
    broadcasts = [program.find_producer(v, "broadcast_in_dim") for v in eqn.invars]
    arrays = [e for e in broadcasts if e is not None and not program.is_number(e.invars[0])]
    return not arrays and len({_jaxpr.abstract(v).shape for v in eqn.invars}) == 1


def _size(atom: Any) -> int:
    return math.prod(_jaxpr.abstract(atom).shape)
