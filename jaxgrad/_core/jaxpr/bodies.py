"""The jaxprs inside an equation, and how their inputs and outputs are wired to the equation's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core.jaxpr.unknown import refuse_unknown


class Body(NamedTuple):
    """One jaxpr inside an equation.

    In a loop, output `k` of an iteration is input `carry[k]` of the next one. Both jaxprs of a
    `while` share the carry, which only the second one updates.
    """

    jaxpr: Any
    inputs: Sequence[int]  # the equation input that feeds each body input, initially for a carry
    outputs: Sequence[int | None]  # the equation output that each body output feeds
    carry: range  # the body inputs that change from one iteration to the next
    length: int | None  # the number of iterations; None if it depends on values

    def feed(self, values: Sequence[Any]) -> list[Any]:
        """Pick the values of the body inputs from those of the equation inputs."""
        return [values[i] for i in self.inputs]

    def split(self, values: Sequence[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        """Split the body's input values into constants, initial carry and scanned inputs."""
        fed, a, b = self.feed(values), self.carry.start, self.carry.stop
        return fed[:a], fed[a:b], fed[b:]


# Primitives that run one jaxpr once, on the equation's inputs.
CALLS = frozenset((
    *("shard_map", *compat.JIT, *compat.REMAT, "custom_jvp_call", "custom_vjp_call"),
    *("closed_call", "core_call", "eval_jaxpr", "custom_vmap_call", "composite"),
))  # fmt: skip
_KEYS = ("jaxpr", "call_jaxpr", "call")  # the parameters that may hold it


def bodies(eqn: jex_core.JaxprEqn) -> list[Body]:
    """List the jaxprs inside an equation, in the order in which paths count them.

    The jaxprs of `pallas_call`, `custom_linear_solve` and similar primitives are left out, because
    their inputs and outputs do not correspond to those of the equation; `unknown.py` lists them.

    Raises:
        NotImplementedError: The equation's primitive contains a program, and it is neither in the
            tables of this file nor in that list.
    """
    name, params = eqn.primitive.name, eqn.params
    n, outputs = len(eqn.invars), range(len(eqn.outvars))
    if name == "while":
        a, b = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
        test_inputs, loop_inputs = [*range(a), *range(b, n)], range(a, n)
        return [
            Body(params["cond_jaxpr"], test_inputs, [None], range(a, len(test_inputs)), None),
            Body(params["body_jaxpr"], loop_inputs, outputs, range(b - a, n - a), None),
        ]
    if name == "scan":
        consts, carried = compat.scan_counts(eqn)
        carry = range(consts, consts + carried)
        return [Body(params["jaxpr"], range(n), outputs, carry, params["length"])]
    if name == "cond":
        operands, carry = range(1, n), range(n - 1, n - 1)
        return [Body(branch, operands, outputs, carry, 1) for branch in params["branches"]]
    jaxpr = next((params[key] for key in _KEYS if key in params), None)
    if name in CALLS and jaxpr is not None:
        return [Body(jaxpr, range(n), outputs, range(n, n), 1)]
    refuse_unknown(eqn)
    return []


def inner(eqn: jex_core.JaxprEqn) -> list[Any]:
    """List the jaxprs inside an equation without their input and output wiring."""
    return [body.jaxpr for body in bodies(eqn)]
