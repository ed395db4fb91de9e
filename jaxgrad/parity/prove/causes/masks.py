"""Another mask: torch is rerun with the elements masked that the port masks.

A mask has no floating numbers to compare. The port's mask is known from its effect: a call of
`where` changes an element of its operand, or keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from jaxgrad.parity.prove.causes.trials import Trial, in_place, is_value
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.record.jax_side.flow import REARRANGES, leaf_of, place
from jaxgrad.parity.prove.record.jax_side.program import Key, Spot
from jaxgrad.parity.prove.record.torch_side.values import Change, TorchRun
from jaxgrad.parity.prove.wording import Mutual


_CALLS = ("masked_fill", "where")
_COPIES = 4  # JAX values that are equal to the operand


class Masked(NamedTuple):
    """A torch call that masks the elements of a value."""

    value: int  # its result
    operand: int  # the value
    position: int  # of the value among the arguments


def different(
    evidence: Evidence, run: TorchRun, draw: int, starts: Sequence[int]
) -> Iterator[Trial]:
    """Yield the trials in which torch masks the elements that JAX masks.

    Args:
        evidence: All runs.
        run: torch's run, with its values.
        draw: The draw of this run.
        starts: The values at which the difference may begin.
    """
    for i in starts:
        masked = _masked(run, i)
        found = None if masked is None else _in_jax(evidence, run, draw, masked)
        if masked is None or found is None:
            continue
        key, hidden = found
        differing = np.argwhere(hidden != _effect(run, masked))
        at = [int(n) for n in differing[0]]
        ways = ("changes", "keeps")
        own, jaxs = ways[::-1] if hidden[tuple(at)] else ways
        where = _computed_at(evidence, key)
        text = (
            f"the masks differ in {len(differing)} of {hidden.size} elements: at {at}, torch's "
            f"{run.values[i].op} {own} the element, JAX {jaxs} it{where}"
        )

        def everywhere(op: str = run.values[i].op) -> list[Change]:
            alike = (k for k, v in enumerate(run.values) if v.op == op)
            every = [(m, _in_jax(evidence, run, draw, m)) for k in alike
                     if (m := _masked(run, k)) is not None]  # fmt: skip
            return [_change(run, m, x[1]) for m, x in every if x is not None]

        change = _change(run, masked, hidden)
        tested = "rerunning torch with JAX's mask"
        yield Trial(i, Mutual(text), (change,), everywhere, tested, key=key)


def _masked(run: TorchRun, i: int) -> Masked | None:
    """Return the call of a value if it masks the elements of another value of its shape."""
    value = run.values[i]
    if value.op not in _CALLS or value.call is None or in_place(value) or value.data is None:
        return None
    for k in value.inputs:
        data = run.values[k].data
        if data is None or data.shape != value.data.shape:
            continue
        for position, x in enumerate(value.call[1]):
            if is_value(x, run.values[k]):
                return Masked(i, k, position)
    return None


def _effect(run: TorchRun, masked: Masked) -> np.ndarray:
    """Return where a call changes its operand."""
    return _changed(run.values[masked.operand].data, run.values[masked.value].data)


def _changed(x: Any, result: Any) -> np.ndarray:
    return ~((x == result) | (np.isnan(x) & np.isnan(result)))


def _in_jax(
    evidence: Evidence, run: TorchRun, draw: int, masked: Masked
) -> tuple[Key, np.ndarray] | None:
    """Return the call of JAX that masks the same value, and where it changes the value.

    Returns None if there is none, if its effect is torch's, or if it varies with the draw.
    """
    alignment, flow, port = evidence.alignments[draw], evidence.flow, evidence.port
    shape = run.values[masked.value].shape
    for row in alignment.candidates[masked.operand][:_COPIES]:
        copy = alignment.spots[row]
        for key in flow.children.get(copy.key, ()):
            selects = port.program.equations[key[0]].primitive.name == "select_n"
            lengths = port.program.lengths
            if not selects or lengths[key[0]] != lengths[copy.path]:  # in another loop
                continue
            effects = []
            for number in range(len(evidence.draws)):
                spots = [copy, Spot(*key, copy.iteration)]
                x, result = port.values(evidence.draws[number], spots)
                if x.shape == result.shape and x.size == np.prod(shape, dtype=int):
                    effects.append(_changed(x, result).reshape(shape))
            same = len(effects) == len(evidence.draws) and all(
                np.array_equal(effects[0], x) for x in effects
            )
            if same and not np.array_equal(effects[0], _effect(run, masked)):
                return key, effects[0]
    return None


def _computed_at(evidence: Evidence, key: Key) -> str:
    """Say where JAX computes the mask of a call, unless it is an argument of the port."""
    flow, program = evidence.flow, evidence.port.program
    made = [k for k in flow.operands[key[0]][0] if leaf_of(k) is None]
    while made and program.equations[made[0][0]].primitive.name in REARRANGES:
        made = [k for k in flow.parents[made[0]] if leaf_of(k) is None]
    return f"; JAX computes its mask at {place(program, made[0])}" if made else ""


def _change(run: TorchRun, masked: Masked, hidden: np.ndarray) -> Change:
    """Return the change with which a call of torch masks other elements."""
    value = run.values[masked.value]

    def call(func: Callable[..., Any], args: Any, kwargs: Any) -> Tensor:
        mask = torch.as_tensor(hidden)
        if value.op == "masked_fill":
            return func(args[0], mask, *args[2:], **kwargs)
        return func(~mask if masked.position == 1 else mask, *args[1:], **kwargs)

    return Change(value.call_number, call)
