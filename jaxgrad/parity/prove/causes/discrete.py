"""Mistakes in integers and booleans, which no fingerprint compares: masks, indices, labels.

Such a call is followed through its effect alone: torch is rerun with the call changed, and a change
is a cause only if it explains all outputs.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from jax.extend import core as jex_core
from torch import Tensor

from jaxgrad._core.tree import is_inexact
from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove.causes import trials
from jaxgrad.parity.prove.causes.mistakes.call import TorchCall
from jaxgrad.parity.prove.causes.mistakes.discrete import COMPARISONS
from jaxgrad.parity.prove.causes.mistakes.table import outcomes
from jaxgrad.parity.prove.causes.trials import Discrete, Numbers, Trial, in_place
from jaxgrad.parity.prove.record.jax_side.flow import REARRANGES
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram, Key, numbers_of
from jaxgrad.parity.prove.record.torch_side.values import Change, TorchRun, Value


_LARGEST = 2**31  # larger integers are the bits of random numbers
_IDLE = ("add", "and", "clamp", "max", "min", "mul", "or", "select_n", "sub")
_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
_CALLS = 24  # of torch, the nearest to the difference


def numbers(program: JaxProgram) -> Numbers:
    """Return the numbers with which the JAX program compares, or computes integers."""
    found: list[float] = []
    for eqn in program.equations.values():
        if eqn.primitive.name in COMPARISONS or not any(map(is_inexact, eqn.outvars)):
            found += [float(x) for x in numbers_of(eqn) if np.isrealobj(x) and abs(x) < _LARGEST]
    return tuple(dict.fromkeys(found))


def mistakes(run: TorchRun, starts: Sequence[int], known: Numbers) -> Iterator[Trial]:
    """Yield the mistakes in discrete calls that change what the call returns, the nearest first.

    Args:
        run: torch's run, with its values.
        starts: The values at which the difference may begin.
        known: The numbers that the JAX program may use in their place.
    """
    reading = [i for i in starts if run.values[i].integers or run.values[i].unchecked]
    shown = (reading or list(starts))[0]
    last = max(run.values[i].call_number for i in starts)
    calls = [v for v in run.discrete if v.call is not None and v.call_number <= last]
    for value in reversed(calls[-_CALLS:]):
        if not in_place(value):
            yield from _in_call(run, value, shown, known)


def _in_call(run: TorchRun, value: Value, shown: int, known: Numbers) -> Iterator[Trial]:
    live = trials.live(value, known)
    own = live.result
    if not isinstance(own, Tensor):
        return

    def everywhere(wrong: TorchCall) -> list[Change]:
        alike = [v for v in run.discrete if (v.op, v.line) == (value.op, value.line)]
        return [trials.change(wrong.difference, v, known) for v in alike]

    for wrong, out in outcomes(live):
        if (out.shape, out.dtype) != (own.shape, own.dtype) or torch.equal(out, own):
            continue
        change = trials.change(wrong.difference, value, known)
        yield Trial(
            shown, wrong.difference, (change,), functools.partial(everywhere, wrong),
            fix=wrong.fix, whole=True,
            discrete=Discrete(value, to_numpy(out), _comparison(wrong), wrong.setting == "skip"),
        )  # fmt: skip


def _comparison(call: TorchCall) -> tuple[str, float] | None:
    """Return the sign and the number of a comparison with a number."""
    name = getattr(call.func, "__name__", "").strip("_")
    number = call.args[1] if len(call.args) > 1 else None
    if name not in COMPARISONS or not isinstance(number, int | float):
        return None
    return name, float(number)


def computed(
    program: JaxProgram, values: Mapping[Key, np.ndarray], result: np.ndarray
) -> dict[Key, bool]:
    """Return the integers and booleans of the JAX program that equal a result.

    The mapping says which of them are the complement: a mask of what is kept, and not hidden.
    """
    found = {}
    for key, x in values.items():
        eqn = program.equations[key[0]]
        moves = eqn.primitive.name in REARRANGES and not any(map(is_inexact, eqn.invars))
        if moves or x.size != result.size:
            continue
        for inverted in (False, True) if x.dtype == result.dtype == bool else (False,):
            if np.array_equal(x.ravel(), (~result if inverted else result).ravel()):
                found[key] = inverted
    return found


def contradicts(eqn: Any, mistake: Discrete) -> bool:
    """Whether JAX computes the result otherwise than the mistake says."""
    name, found = eqn.primitive.name, [float(x) for x in numbers_of(eqn)]
    if mistake.missing and name in _IDLE:
        return True  # JAX makes the call too, and it changes nothing
    if mistake.comparison is None or name not in COMPARISONS or len(found) != 1:
        return False
    first = isinstance(eqn.invars[0], jex_core.Literal)
    return mistake.comparison != (_MIRRORED.get(name, name) if first else name, found[0])
