"""Say what to write in JAX where torch has a straight-through estimator.

`x + (y - x).detach()` has the value of y and passes the gradient to x. The sum is recognised by
its operands and by its value, so `y.detach() + (x - x.detach())` is recognised too.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp

from jaxgrad.parity.prove.align.fingerprint import print_distance
from jaxgrad.parity.prove.record.torch_side.values import TorchRun


_SUMS = {"add", "radd", "sub", "rsub"}
STOPS = {"detach", "data"}
_DEPTH = 4  # nested sums and detaches
_EQUAL = 1e-10  # the relative distance of two fingerprints of one value

Operand = int | str  # a value of the run, or the name of a parameter


class Estimator(NamedTuple):
    """A value of a run that passes its gradient straight to another one."""

    x: Operand  # gets the gradient
    y: int  # has the value


def estimator(run: TorchRun, stop: int) -> Estimator | None:
    """Return the straight-through estimator to which a `detach` of torch belongs, if any.

    Args:
        run: torch's run.
        stop: The value that the `detach` returned.
    """
    for total in range(stop, len(run.values)):
        if run.values[total].op not in _SUMS or stop not in _within(run, total):
            continue
        operands = _merged(run, _operands(run, total))
        live = [x for x, stopped in operands if not stopped]
        stopped = {x for x, stopped in operands if stopped}
        for x in live:
            for y in stopped - {x}:
                if len(live) == 1 and stopped == {x, y} and _same(run, total, y):
                    return Estimator(x, int(y))
    return None


def formula(run: TorchRun, stop: int) -> str:
    """Return the estimator of a `detach` in JAX, and what its letters are; empty if there is none.

    Args:
        run: torch's run.
        stop: The value that the `detach` returned.
    """
    found = estimator(run, stop)
    return "" if found is None else _formula(run, *found)


def _formula(run: TorchRun, x: Operand, y: int) -> str:
    value = run.values[y]
    if (*value.inputs, *value.weights) == (x,) and callable(getattr(jnp, value.op, None)):
        return f"x + lax.stop_gradient(jnp.{value.op}(x) - x){_where(run, x=x)}"
    return f"x + lax.stop_gradient(y - x){_where(run, x=x, y=y)}"


def _where(run: TorchRun, **letters: Operand) -> str:
    """Say what the letters of a formula are; a parameter of the same name needs no word."""
    named = {letter: _named(run, x) for letter, x in letters.items() if x != letter}
    clauses = [f"{letter} is {name}" for letter, name in named.items()]
    return f", where {' and '.join(clauses)}" if clauses else ""


def _named(run: TorchRun, x: Operand) -> str:
    if isinstance(x, str):
        return f"the parameter {x}"
    value = run.values[x]
    return "the input" if value.op == "input" else f"the output of torch's {value.in_words}"


def _same(run: TorchRun, total: int, y: Operand) -> bool:
    """Whether a sum has the value of one of its operands."""
    if isinstance(y, str):
        return False
    return float(print_distance(run.values[total].print, run.values[y].print)) < _EQUAL


def _operands(
    run: TorchRun, number: int, *, stopped: bool = False, depth: int = _DEPTH
) -> set[tuple[Operand, bool]]:
    """Return the operands of nested sums, each with whether its gradient is stopped."""
    value = run.values[number]
    stopped = stopped or value.op in STOPS or not value.requires_grad
    if depth == 0 or value.op not in _SUMS | STOPS:
        return {(number, stopped)}
    rest: set[tuple[Operand, bool]] = {(name, stopped) for name in value.weights}
    return rest.union(*(_operands(run, i, stopped=stopped, depth=depth - 1) for i in value.inputs))


def _merged(run: TorchRun, operands: set[tuple[Operand, bool]]) -> list[tuple[Operand, bool]]:
    """Return operands with one name for equal ones, as a function that is called twice gives."""
    numbers = sorted(x for x, _ in operands if not isinstance(x, str))

    def first(x: Operand) -> Operand:
        if isinstance(x, str):
            return x
        one = run.values[x].print
        return next(k for k in numbers if print_distance(one, run.values[k].print) < _EQUAL)

    return [(first(x), stopped) for x, stopped in operands]


def _within(run: TorchRun, number: int, depth: int = _DEPTH) -> set[int]:
    """Return the values of nested sums and detaches."""
    value = run.values[number]
    if depth == 0 or value.op not in _SUMS | STOPS:
        return {number}
    return {number}.union(*(_within(run, i, depth - 1) for i in value.inputs))
