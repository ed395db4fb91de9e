"""Find what a call of a torch module leaves behind: run it, and compare the module with itself.

No statement is followed for it, which finds the changes that the interpretation does not see.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from jaxgrad._core.typing import PyTree
from jaxgrad.parity.port.leftovers.changed_lines import line_of
from jaxgrad.parity.port.leftovers.snapshots import Difference, Snapshot
from jaxgrad.parity.port.leftovers.warming import warm_up
from jaxgrad.parity.port.modes.modes import in_mode
from jaxgrad.parity.port.source.refusals import Place
from jaxgrad.parity.port.values.equal import same
from jaxgrad.parity.port.values.inputs import tensors
from jaxgrad.parity.prove.record.torch_side.borrowed import Borrowed


@dataclasses.dataclass(frozen=True)
class LeftBehind:
    """What one call of a module changes in it.

    Attributes:
        changes: What differs after the call.
        repeats: Whether the next call gives the same outputs, with the parameters and buffers that
            this one had.
        line: Returns the line that makes a change, or None if it is not in the user's program.
    """

    changes: tuple[Difference, ...]
    repeats: bool
    line: Callable[[Difference], Place | None]

    def of_kind(self, *kinds: str) -> Iterator[Difference]:
        """Yield the changes of some kinds."""
        return (x for x in self.changes if x.kind in kinds)


def left_behind(module: nn.Module, inputs: PyTree, training: bool, *, warm: bool) -> LeftBehind:
    """Run a module in one mode, and return what it leaves behind; it gets everything back.

    Args:
        module: The torch module.
        inputs: Its example inputs.
        training: Whether it is in train mode.
        warm: Whether it is run once before, so that its caches are filled.
    """

    @contextlib.contextmanager
    def running() -> Iterator[Callable[[Any], Any]]:
        borrowed = Borrowed(module)
        try:
            modes = borrowed.in_dtype(None), in_mode(module, training)
            with modes[0], modes[1], torch.random.fork_rng(devices=[]):
                if warm:
                    warm_up(module, inputs, training)
                yield functools.partial(_call, module)
        finally:
            borrowed.give_back()

    def line(change: Difference) -> Place | None:
        with running() as run:
            before, example = Snapshot.of(module), tensors(inputs, module)
            seen = _Arguments(module, example)
            return line_of(
                lambda: run(example),
                lambda: change.path in {x.path for x in _changes(before, seen, module)},
            )

    with running() as run:
        before, example = Snapshot.of(module), tensors(inputs, module)
        seen = _Arguments(module, example)
        first = run(example)
        changes = tuple(_changes(before, seen, module))
        repeats = True
        if any(x.kind in ("set", "changed") for x in changes):
            _give_back(module, before.tensors)
            repeats = _alike(first, run(tensors(inputs, module)))
    return LeftBehind(changes, repeats, line)


def _call(module: nn.Module, example: Any) -> Sequence[Any]:
    """Return the outputs of a module, with the same random numbers each time."""
    torch.manual_seed(0)
    out = module(**example) if isinstance(example, Mapping) else module(*example)
    return [x.detach().clone() if isinstance(x, torch.Tensor) else x for x in _leaves(out)]


def _leaves(out: Any) -> list[Any]:
    return pytree.tree_leaves(out)


class _Arguments:
    """The tensors that a module is given, and their values before it runs."""

    def __init__(self, module: nn.Module, example: Any) -> None:
        keyed = isinstance(example, Mapping)
        names = [*(example if keyed else _names(module))]
        names += [f"argument {n}" for n in range(len(names), len(example))]
        parts = example.values() if keyed else example
        self.before = [
            (name, x, x.detach().clone())
            for name, part in zip(names, parts, strict=False)
            for x in _leaves(part)
            if isinstance(x, torch.Tensor)
        ]

    def changed(self) -> Iterator[Difference]:
        """Yield the arguments whose values differ."""
        for name, x, value in self.before:
            if not same(x.detach(), value):
                yield Difference(name, None, "argument")


def _names(module: nn.Module) -> list[str]:
    try:
        return list(inspect.signature(module.forward).parameters)
    except (TypeError, ValueError):  # a setting has a default, and arguments after it have none
        return []


def _changes(before: Snapshot, seen: _Arguments, module: nn.Module) -> Iterator[Difference]:
    yield from before.differences(Snapshot.of(module))
    yield from seen.changed()


def _give_back(module: nn.Module, values: Mapping[str, torch.Tensor]) -> None:
    """Give the parameters and buffers of a module their values, as far as they still exist."""
    named = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    for name, value in values.items():
        x = named.get(name)
        if x is not None and x.shape == value.shape:
            x.data.copy_(value)


def _alike(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Return whether two lists of outputs have equal tensors, apart from rounding."""
    pairs = [(a, b) for a, b in zip(first, second, strict=False) if isinstance(a, torch.Tensor)]
    return len(first) == len(second) and all(
        isinstance(b, torch.Tensor)
        and a.shape == b.shape
        and a.dtype == b.dtype
        and torch.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True)
        for a, b in pairs
    )
