"""Another mask: torch is rerun with the elements masked that the port masks.

A mask may have no floating numbers to compare. It is known from its effect in both programs: a call
of `where`, a sum with 0 and -1e9 or a product with 0 and 1 changes an element of its operand, or
keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from jaxgrad.parity.prove.causes.mistakes.call import NUMBER
from jaxgrad.parity.prove.causes.trials import Trial, in_place, is_value
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.record.jax_side.flow import REARRANGES, leaf_of, place
from jaxgrad.parity.prove.record.jax_side.program import Key, Spot
from jaxgrad.parity.prove.record.torch_side.values import Change, TorchRun
from jaxgrad.parity.prove.wording import Mutual


_SUMS, _PRODUCTS = ("add", "radd"), ("mul", "rmul")
_CALLS = ("masked_fill", "where", *_SUMS, *_PRODUCTS)
_IN_JAX = ("select_n", "add", "mul")
_COPIES = 4  # JAX values that are equal to the operand
_LOW = -1e3  # a number that is added to a masked score is lower


class Masked(NamedTuple):
    """A torch call that masks the elements of a value."""

    operand: int  # the value
    position: int  # of the value among the arguments


class Effects(NamedTuple):
    """Where both programs change the value, on each draw."""

    key: Key  # the call of JAX
    position: int  # of the value among the arguments of torch's call
    of_torch: tuple[np.ndarray, ...]
    of_jax: tuple[np.ndarray, ...]


def different(
    evidence: Evidence, draw: int, runs: Callable[[], Sequence[TorchRun]], i: int
) -> Iterator[Trial]:
    """Yield the trial in which torch masks the elements that JAX masks, if they differ.

    Args:
        evidence: All runs.
        draw: The draw on which the trial is tested first.
        runs: Function that returns torch's run on each draw, with its values.
        i: The result of a call that may mask a value.
    """
    op = evidence.runs[draw].values[i].op
    if op not in _CALLS:
        return
    every = runs()
    effects = _effects(evidence, draw, every, i)
    if effects is None:
        return
    own, jaxs = effects.of_torch[draw], effects.of_jax[draw]
    if (own != jaxs).all() or not jaxs.any():
        return  # the mask is inverted, or missing
    # The user knows the masks of the given inputs, which come first.
    pairs = [*enumerate(zip(effects.of_torch, effects.of_jax, strict=True))]
    first, (own, jaxs) = next((n, pair) for n, pair in pairs if not np.array_equal(*pair))
    redrawn = " with redrawn inputs" if first else ""
    differing = np.argwhere(own != jaxs)
    at = [int(n) for n in differing[0]]
    verbs = ("changes", "keeps") if own[tuple(at)] else ("keeps", "changes")
    text = (
        f"the masks differ in {len(differing)} of {own.size} elements{redrawn}: at {at}, torch's "
        f"{op} {verbs[0]} the element, JAX {verbs[1]} it{_computed_at(evidence, effects.key)}"
    )

    def everywhere() -> list[Change]:
        alike = (k for k, v in enumerate(every[draw].values) if v.op == op)
        found = ((k, _effects(evidence, draw, every, k)) for k in alike)
        return [_change(every[draw], k, x) for k, x in found if x is not None]

    change = _change(every[draw], i, effects)
    tested = "rerunning torch with JAX's mask"
    general = NUMBER  # a mask that is shifted or transposed is told as such
    yield Trial(i, Mutual(text), (change,), everywhere, tested, key=effects.key, general=general)


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
            if is_value(x, run.values[k]) and _masks(value.op, value.call[1], position):
                return Masked(k, position)
    return None


def _masks(op: str, args: Sequence[Any], position: int) -> bool:
    """Whether a call masks one of its arguments; the terms of a sum or a product may be a mask."""
    if op not in (*_SUMS, *_PRODUCTS):
        return True
    mask = args[1 - position] if len(args) == 2 else None
    if not isinstance(mask, Tensor) or not mask.ndim or mask.is_complex():
        return False
    numbers = mask.unique().tolist()
    if len(numbers) != 2:
        return False
    low, high = numbers
    return high == 0 and low < _LOW if op in _SUMS else (low, high) == (0, 1)


def _effects(evidence: Evidence, draw: int, runs: Sequence[TorchRun], i: int) -> Effects | None:
    """Return what both programs mask in the call of a value.

    Returns None if JAX has no such call, or if both mask the same elements.
    """
    masked = [m for run in runs if (m := _masked(run, i)) is not None]
    if len(masked) < len(runs):
        return None
    of_torch = tuple(
        _changed(run.values[m.operand].data, run.values[i].data)
        for run, m in zip(runs, masked, strict=True)
    )
    operand, position = masked[draw]
    alignment, flow, port = evidence.alignments[draw], evidence.flow, evidence.port
    lengths, equations = port.program.lengths, port.program.equations
    for row in alignment.candidates[operand][:_COPIES]:
        copy = alignment.spots[row]
        for key in flow.children.get(copy.key, ()):
            masks = equations[key[0]].primitive.name in _IN_JAX
            if not masks or lengths[key[0]] != lengths[copy.path]:  # in another loop
                continue
            spots = copy, Spot(*key, copy.iteration)
            both = [port.values(each, spots) for each in evidence.draws]
            if any(x.shape != y.shape or x.size != of_torch[0].size for x, y in both):
                continue
            of_jax = tuple(_changed(x, y).reshape(of_torch[0].shape) for x, y in both)
            if of_jax[draw].all():  # a sum or a product that is no mask
                continue
            if not np.array_equal(of_torch[draw], of_jax[draw]):
                return Effects(key, position, of_torch, of_jax)
    return None


def _changed(x: Any, result: Any) -> np.ndarray:
    return ~((x == result) | (np.isnan(x) & np.isnan(result)))


def _computed_at(evidence: Evidence, key: Key) -> str:
    """Say where JAX computes the mask of a call, unless it is an argument of the port."""
    flow, program = evidence.flow, evidence.port.program
    if program.equations[key[0]].primitive.name != "select_n":
        return ""
    made = [k for k in flow.operands[key[0]][0] if leaf_of(k) is None]
    while made and program.equations[made[0][0]].primitive.name in REARRANGES:
        made = [k for k in flow.parents[made[0]] if leaf_of(k) is None]
    return f"; JAX computes its mask at {place(program, made[0])}" if made else ""


def _change(run: TorchRun, i: int, effects: Effects) -> Change:
    """Return the change with which a call of torch masks the elements that JAX masks.

    A mask may depend on the inputs. The draw is known by the elements that torch masks.
    """
    op, position = run.values[i].op, effects.position

    def call(func: Callable[..., Any], args: Any, kwargs: Any) -> Tensor:
        own = func(*args, **kwargs)
        x = args[position]
        changed = _changed(x.detach().numpy(), own.detach().numpy())
        for of_torch, of_jax in zip(effects.of_torch, effects.of_jax, strict=True):
            if np.array_equal(changed, of_torch):
                return _with_mask(op, func, args, kwargs, position, torch.as_tensor(of_jax))
        return own

    return Change(run.values[i].call_number, call)


def _with_mask(
    op: str, func: Callable[..., Any], args: Any, kwargs: Any, position: int, mask: Tensor
) -> Tensor:
    """Return the result of a call with another mask, which is true where an element is changed."""
    x = args[position]
    if op == "masked_fill":
        return func(x, mask, *args[2:], **kwargs)
    if op == "where":
        return func(~mask if position == 1 else mask, *args[1:], **kwargs)
    if op in _PRODUCTS:
        return x * ~mask
    return x + torch.zeros_like(x).masked_fill(mask, args[1 - position].min().item())
