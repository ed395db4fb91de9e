"""The keys with which a program draws its random numbers.

A key is computed from constants, integers and other keys. Only these are evaluated, each when it is
asked for, in every iteration of the loops around it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core as jex_core

from jaxgrad._core import compat
from jaxgrad._core.jaxpr import Path, bodies, is_inexact
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram, is_key


_MOST_EQUATIONS = 20_000  # evaluated for the keys of one program
_MOST_NUMBERS = 1_000_000  # in an array from which a key is computed


class Keys:
    """The keys of a program for given params and inputs.

    Args:
        program: The port.
        leaves: The leaves of its params and inputs.
    """

    def __init__(self, program: JaxProgram, leaves: Sequence[Any]):
        self.left = _MOST_EQUATIONS
        variables = compat.open_jaxpr(program.jaxpr)[0].invars

        def leaf(k: int) -> Any:
            return jnp.asarray(leaves[k], variables[k].aval.dtype)

        self.root = _Frame(self, program.jaxpr, leaf)

    def of(self, path: Path, iteration: Sequence[int] = ()) -> tuple[bytes, ...]:
        """Return the keys of one call of a sampler: one key, or several under `jax.vmap`.

        Args:
            path: The path of the sampler's equation.
            iteration: The iteration of each scan around it.

        Returns:
            The numbers of the keys, or an empty tuple if they cannot be computed alone.
        """
        try:
            key = self._frame(path, iter(iteration)).operand(path[-1], 0)
            if key is None or not is_key(key):
                return ()
            numbers = np.asarray(jax.random.key_data(key))
        except Exception:  # a recursion that is too deep, an equation that cannot run alone
            return ()
        rows = numbers.reshape(math.prod(np.shape(key)), -1)
        return tuple(str(key.dtype).encode() + row.tobytes() for row in rows)

    def _frame(self, path: Path, iteration: Iterator[int]) -> _Frame:
        """Return the run of the jaxpr that contains an equation."""
        frame = self.root
        for number, which in zip(path[:-1:2], path[1::2], strict=True):
            scans = frame.jaxpr.eqns[number].primitive.name == "scan"
            frame = frame.body(number, which, next(iteration) if scans else 0)
        return frame


class _Frame:
    """One run of a jaxpr; its integers and keys are computed when they are asked for.

    Args:
        keys: The keys of the whole program.
        jaxpr: The jaxpr.
        argument: Function that returns the value of an input; None if it is unknown.
    """

    def __init__(self, keys: Keys, jaxpr: Any, argument: Callable[[int], Any]):
        self.keys, self.argument = keys, argument
        self.jaxpr, consts = compat.open_jaxpr(jaxpr)
        self.values: dict[Any, Any] = dict(zip(self.jaxpr.constvars, consts, strict=True))
        self.inputs = {v: k for k, v in enumerate(self.jaxpr.invars)}
        self.results = {v: (n, k) for n, eqn in enumerate(self.jaxpr.eqns)
                        for k, v in enumerate(eqn.outvars)}  # fmt: skip
        self.bodies: dict[tuple[int, int, int], _Frame] = {}

    def operand(self, number: int, k: int) -> Any:
        """Return the value of an operand of an equation."""
        return self.value(self.jaxpr.eqns[number].invars[k])

    def output(self, k: int) -> Any:
        """Return the value of an output of the jaxpr."""
        return self.value(self.jaxpr.outvars[k])

    def value(self, atom: Any) -> Any:
        """Return the value of an integer or of a key; None if it is unknown."""
        if isinstance(atom, jex_core.Literal):
            return atom.val
        if atom not in self.values:
            self.values[atom] = None if is_inexact(atom) else self._computed(atom)
        return self.values[atom]

    def _computed(self, variable: Any) -> Any:
        if variable in self.inputs:
            return self.argument(self.inputs[variable])
        number, k = self.results[variable]
        eqn = self.jaxpr.eqns[number]
        if bodies(eqn):
            return self._from_bodies(number, k)
        sizes = [math.prod(getattr(v.aval, "shape", ())) for v in (*eqn.invars, *eqn.outvars)]
        self.keys.left -= 1
        if eqn.effects or max(sizes) > _MOST_NUMBERS or self.keys.left < 0:
            return None
        operands = [self.value(v) for v in eqn.invars]
        if any(x is None for x in operands):
            return None
        outputs = compat.bind(eqn, operands)
        self.values.update(zip(eqn.outvars, outputs, strict=True))
        return outputs[k]

    def _from_bodies(self, number: int, k: int) -> Any:
        """Return output `k` of a call, a branch or a scan."""
        eqn = self.jaxpr.eqns[number]
        inside = bodies(eqn)
        if eqn.primitive.name == "while":
            return None
        if eqn.primitive.name == "cond":
            index = self.operand(number, 0)
            branch = None if index is None else min(max(int(index), 0), len(inside) - 1)
            return None if branch is None else self.body(number, branch, 0).output(k)
        if eqn.primitive.name != "scan":
            return self.body(number, 0, 0).output(k)
        times = _order(eqn)
        if k < len(inside[0].carry):
            outputs = [self.body(number, 0, t).output(k) for t in times]  # each needs the last one
            return outputs[-1] if outputs else self.operand(number, inside[0].carry.start + k)
        rows = [self.body(number, 0, t).output(k) for t in sorted(times)]
        return None if not rows or any(x is None for x in rows) else jnp.stack(rows)

    def body(self, number: int, which: int, time: int) -> _Frame:
        """Return the run of a body of an equation, for a scan in one of its iterations."""
        at = number, which, time
        if at not in self.bodies:
            eqn = self.jaxpr.eqns[number]
            body = bodies(eqn)[which]

            def argument(k: int) -> Any:
                x = self.operand(number, body.inputs[k])
                if eqn.primitive.name == "while" and k in body.carry:
                    return None
                if eqn.primitive.name != "scan" or k < body.carry.start:
                    return x
                if k >= body.carry.stop:
                    return None if x is None else x[time]
                for earlier in _order(eqn)[: _order(eqn).index(time)]:
                    x = self.body(number, which, earlier).output(k - body.carry.start)
                return x

            self.bodies[at] = _Frame(self.keys, body.jaxpr, argument)
        return self.bodies[at]


def _order(eqn: Any) -> range:
    """Return the iterations of a scan in the order in which they run."""
    steps = range(eqn.params["length"])
    return steps[::-1] if eqn.params["reverse"] else steps
