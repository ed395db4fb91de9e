"""Another pairing of the elements of an axis, as in rotary embeddings: halves or neighbours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import torch

from jaxgrad.parity.prove.causes.trials import Trial, in_place, is_value
from jaxgrad.parity.prove.record.torch_side.values import MOVES, Change, TorchRun
from jaxgrad.parity.prove.wording import Told


_STARTS = 2  # values at which the difference may begin
_BEFORE = 3  # calls from such a value back to the one that is paired
_RESULTS = 4  # values of its shape, one of which is the result
_LONGEST = 40  # values from one to the other


class Region(NamedTuple):
    """The calls that compute a value from another one of the same shape."""

    source: int
    result: int
    readers: dict[int, list[int]]  # value that reads the source -> positions among its arguments


def paired(run: TorchRun, starts: Sequence[int]) -> Iterator[tuple[Trial, ...]]:
    """Yield the trials in which JAX pairs the elements of the last axis in another way.

    A rotary embedding rotates pairs of elements: (0, 1), (2, 3), ... in one code base, and
    (0, n / 2), (1, n / 2 + 1), ... in the other.

    Args:
        run: torch's run, with its values.
        starts: The values at which the difference may begin.

    Yields:
        The trial in one place, and the one in all places where the same line makes these calls.
    """
    for region in _regions(run, starts):
        size = run.values[region.source].shape[-1]
        alike = _alike(run, region)
        neighbours = [*range(0, size, 2), *range(1, size, 2)]
        halves = [k // 2 + k % 2 * (size // 2) for k in range(size)]
        names = (f"(0, {size // 2}), (1, {size // 2 + 1}), ...", "(0, 1), (2, 3), ...")
        for order, (jax, own) in ((neighbours, names[::-1]), (halves, names)):
            text = Told(
                f"JAX pairs the elements {jax} of the last axis, torch pairs {own}",
                f"torch pairs the elements {own} of the last axis, JAX pairs {jax}",
            )
            for back in (True, False):
                ways = [([region], "")]
                if len(alike) > 1:
                    ways.append((alike, f" in all {len(alike)} places"))
                yield tuple(
                    Trial(
                        region.result,
                        text,
                        tuple(c for place in places for c in _changes(run, place, order, back)),
                        tested=f"rerunning torch with this change{where}",
                        whole=True,
                    )
                    for places, where in ways
                )


def _regions(run: TorchRun, starts: Sequence[int]) -> Iterator[Region]:
    found: list[Region] = []
    for start in starts[:_STARTS]:
        level, sources = [start], []
        for _ in range(_BEFORE):
            level = [j for k in level for j in run.values[k].inputs]
            sources += [j for j in level if j not in sources]
        after = sorted(_after(run, start))
        for source in sources:
            shape = run.values[source].shape
            if not shape or shape[-1] % 2 or shape[-1] < 4:
                continue
            results = [k for k in after if run.values[k].shape == shape and k - source <= _LONGEST]
            for result in results[:_RESULTS]:
                region = _region(run, source, result)
                if region is not None and region not in found:
                    found.append(region)
                    yield region


def _region(run: TorchRun, source: int, result: int) -> Region | None:
    """Return the calls between two values; None if they cannot be changed, or only move axes."""
    values = run.values
    if values[result].call is None or in_place(values[result]):
        return None
    calls = [v.call_number for v in values]
    if calls.count(calls[result]) > 1:
        return None
    before = {result}
    for k in range(result, source, -1):
        before |= {*values[k].inputs} if k in before else set()
    readers: dict[int, list[int]] = {}
    for k in sorted(before):
        value = values[k]
        if source not in value.inputs or value.call is None:
            continue
        positions = [n for n, x in enumerate(value.call[1]) if is_value(x, values[source])]
        if not positions or in_place(value):
            return None
        readers[k] = positions
    size = values[source].shape[-1]
    moved = all(values[k].op in MOVES and values[k].shape[-1:] == (size,) for k in readers)
    return None if moved else Region(source, result, readers)


def _after(run: TorchRun, start: int) -> set[int]:
    """Return the values that depend on one."""
    after = {start}
    for k in range(start + 1, len(run.values)):
        if after & {*run.values[k].inputs}:
            after.add(k)
    return after


def _alike(run: TorchRun, region: Region) -> list[Region]:
    """Return the places in which the same line makes the same calls."""
    values = run.values
    last = values[region.result]
    reader, (position, *_) = next(iter(region.readers.items()))
    found = []
    for k, value in enumerate(values):
        near = values[max(k - region.result + reader, 0)]
        if (value.op, value.line) != (last.op, last.line) or near.op != values[reader].op:
            continue
        read = near.call[1][position : position + 1] if near.call is not None else ()
        shape = values[region.source].shape
        given = [j for j in near.inputs if values[j].shape == shape]
        sources = [j for j in given for x in read if is_value(x, values[j])]
        other = _region(run, sources[0], k) if sources else None
        if other is not None and _signature(run, other) == _signature(run, region):
            found.append(other)
    return found


def _signature(run: TorchRun, region: Region) -> list[tuple[int, str, list[int]]]:
    return [(region.result - k, run.values[k].op, at) for k, at in region.readers.items()]


def _changes(run: TorchRun, region: Region, order: list[int], back: bool) -> Iterator[Change]:
    """Yield the changes with which the calls read the elements in another order.

    Args:
        run: torch's run.
        region: The calls.
        order: The order of the elements of the last axis.
        back: Whether the result has its elements in the old order again.
    """
    inverse = torch.as_tensor(order).argsort()
    calls = {run.values[k].call_number: at for k, at in region.readers.items()}
    last = run.values[region.result].call_number
    for number in sorted({*calls, last} if back else calls):

        def call(func: Callable[..., Any], args: Any, kwargs: Any, number: int = number) -> Any:
            at = calls.get(number, ())
            out = func(*(x[..., order] if n in at else x for n, x in enumerate(args)), **kwargs)
            return out[..., inverse] if back and number == last else out

        yield Change(number, call)
