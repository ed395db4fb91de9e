"""Record the changes that a call makes to a module, and find those that the next call reads.

A module may change its buffers, its parameters and its attributes: numbers, tensors, and what is in
lists, dicts and objects.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove.judge import RTOL
from jaxgrad.parity.prove.record.lazy import stored
from jaxgrad.parity.prove.record.torch_side.snapshot import (
    CONTAINERS,
    LEFT_ALONE,
    MOST,
    attributes_of,
    refill,
)
from jaxgrad.parity.prove.record.torch_side.trees import viewed
from jaxgrad.parity.prove.record.torch_side.values import TorchRun
from jaxgrad.parity.ulp import distance, scale_of


Changes = dict[str, tuple[Any, Any]]  # name -> the value before and after: arrays, texts or None

_NUMBERS = (bool, int, float, complex, np.generic)
_INTERNAL = frozenset(vars(nn.Module())) - {"training"}
_TRIALS = 12  # runs that search one group of names
_SAME = 1e3 * RTOL  # relative to the scale


def attributes(module: nn.Module) -> dict[str, Any]:
    """Return copies of the numbers, texts, arrays and tensors in a module's attributes, by path.

    Parameters and buffers are left out. An attribute that is None is listed, with the value None.
    """
    own = {id(x) for x in (*module.parameters(), *module.buffers())}
    visited = {id(part) for part in module.modules()}
    values: dict[str, Any] = {}

    def visit(path: str, x: Any) -> None:
        if x is None or isinstance(x, str):
            values[path] = x
        elif isinstance(x, Tensor):
            if id(x) not in own and x.layout == torch.strided and not x.is_meta:
                values[path] = viewed(x).copy()
        elif isinstance(x, np.ndarray):
            values[path] = x.copy()
        elif isinstance(x, _NUMBERS):
            values[path] = np.asarray(x)
        elif not isinstance(x, LEFT_ALONE) and id(x) not in visited and len(visited) < MOST:
            visited.add(id(x))
            for key, member in _members(x):
                visit(f"{path}.{key}", member)

    for name, part in module.named_modules():
        for key, x in vars(part).items():
            if key not in _INTERNAL:
                visit(f"{name}.{key}" if name else key, x)
    return values


def _members(x: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the members of a container or the attributes of an object, with their names."""
    if isinstance(x, dict):
        yield from x.items()
    elif isinstance(x, set | frozenset):
        yield from enumerate(sorted(x, key=str))
    elif isinstance(x, (tuple, *CONTAINERS)):
        yield from enumerate(x)
    for key, member in (attributes_of(x) or {}).items():
        if not (isinstance(x, nn.Module) and key in _INTERNAL):
            yield key, member
        elif key in ("_parameters", "_buffers", "_modules"):  # of a module that is not registered
            yield from member.items()


def changed_attributes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Changes:
    """Return the attributes whose values differ; an attribute that does not exist is None."""
    names = dict.fromkeys((*before, *after))
    pairs = ((name, before.get(name), after.get(name)) for name in names)
    return {name: (x, y) for name, x, y in pairs if not _equal(x, y)}


def changed_parameters(
    module: nn.Module, before: Mapping[str, np.ndarray], names: Iterable[str]
) -> dict[str, np.ndarray]:
    """Return the new values of those parameters among `names` that differ from `before`."""
    wanted = set(names)
    return {
        name: to_numpy(p)
        for name, p in module.named_parameters()
        if name in wanted and not _equal(viewed(p), stored(before, name))
    }


def _equal(x: Any, y: Any) -> bool:
    if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray)):
        return type(x) is type(y) and bool(x == y)
    exact = x.dtype.kind in "fc" and y.dtype.kind in "fc"
    if x.shape != y.shape or np.array_equal(x, y):
        return x.shape == y.shape
    return exact and np.array_equal(x, y, equal_nan=True)  # which takes longer


@dataclasses.dataclass(frozen=True)
class Trials:
    """Runs of a module that start with some of the values that an earlier run left behind."""

    module: nn.Module
    reset: Callable[[], None]  # sets the weights and restores everything else
    call: Callable[[], TorchRun]
    state: Mapping[str, np.ndarray]  # the weights after `reset`
    left: Mapping[str, Any]  # name -> the value after a run; None if it does not exist

    def unread(self) -> dict[str, bool]:
        """Return the names of the values that no further call reads.

        Such a value changes neither the outputs of a call nor the other values that it leaves
        behind, in train mode or in eval mode. The mapping gives True for a value that belongs to a
        layer of `torch.nn`.
        """
        unread: dict[str, bool] = {}
        modes = [self._mode(flip) for flip in (False, True)]
        usual = [(mode, x) for mode in modes if (x := self._run((), mode)) is not None]
        stable = False
        for group in self._groups() if usual else ():
            todo = [group] if group else []
            for _ in range(_TRIALS):
                if not todo:
                    break
                names = todo.pop(0)
                matters = self._matter(names, usual)
                if matters and not stable:
                    stable = True
                    usual = [(mode, self._stable(mode, x)) for mode, x in usual]
                    matters = self._matter(names, usual)
                if not matters:
                    unread |= {name: self._is_of_torch(name) for name in names}
                elif len(names) > 1:
                    half = len(names) // 2
                    todo += [names[:half], names[half:]]
        self.reset()
        return unread

    def _matter(self, names: Sequence[str], usual: Iterable[tuple[Any, _Result]]) -> bool:
        """Return whether a call that starts with the values of `names` differs in some mode."""
        return any(self._differs(self._run(names, mode), x, names) for mode, x in usual)

    def _stable(self, mode: Mapping[str, bool], first: _Result) -> _Result:
        """Leave out values that differ between two equal calls, such as numbers drawn by numpy."""
        second = self._run((), mode)
        if second is None:
            return _Result({}, {})
        same = [{k: x for k, x in left.items() if _is_near(x, right.get(k))}
                for left, right in zip(first, second, strict=True)]  # fmt: skip
        return _Result(*same)

    def _mode(self, flip: bool) -> dict[str, bool]:
        """Return the mode of each submodule: its own, or if `flip`, the opposite of the root's."""
        parts = self.module.named_modules()
        return {name: not self.module.training if flip else x.training for name, x in parts}

    def _groups(self) -> list[list[str]]:
        """Return the names of counters, of attributes, and of floating parameters and buffers."""
        groups: list[list[str]] = [[], [], []]
        for name, x in self.left.items():
            counts = isinstance(x, np.ndarray) and x.dtype.kind not in "fc"
            groups[1 if not self._is_held(name) else 0 if counts else 2].append(name)
        return groups

    def _owner(self, name: str) -> tuple[nn.Module, str, str]:
        """Return the module that has a value, its path, and the value's first name there."""
        parts = dict(self.module.named_modules())
        words = name.split(".")
        paths = (".".join(words[:n]) for n in reversed(range(len(words))))
        path = next(path for path in paths if path in parts)
        return parts[path], path, words[len(path.split(".")) if path else 0]

    def _is_held(self, name: str) -> bool:
        """Return whether a name belongs to a parameter or a buffer."""
        owner, _, key = self._owner(name)
        return key in owner._parameters or key in owner._buffers

    def _is_of_torch(self, name: str) -> bool:
        return type(self._owner(name)[0]).__module__.startswith("torch.nn.")

    def _run(self, names: Sequence[str], mode: Mapping[str, bool]) -> _Result | None:
        """Return the result of a call that starts with the values of `names`; None if it raises."""
        attributes_ = [self._owner(name) for name in names if not self._is_held(name)]
        with contextlib.suppress(Exception):
            self.reset()
            taken = []
            if attributes_:
                self.call()
                own = (*self.module.modules(), *self.module.parameters(), *self.module.buffers())
                memo = {id(x): x for x in own}
                taken = [_copied(vars(owner).get(key), memo) for owner, _, key in attributes_]
                self.reset()
            for (owner, _, key), x in zip(attributes_, taken, strict=True):
                vars(owner)[key] = x
            for name in names:
                if self._is_held(name):
                    self._set(name)
            for path, part in self.module.named_modules():
                part.training = mode.get(path, part.training)
            run = self.call()
            trained = [name for name, _ in self.module.named_parameters() if name in self.state]
            parameters = changed_parameters(self.module, self.state, trained)
            return _Result(run.outputs, {**parameters, **run.buffers, **attributes(self.module)})
        return None

    def _set(self, name: str) -> None:
        """Give a parameter or a buffer the value that it had after a run."""
        (owner, _, key), x = self._owner(name), self.left[name]
        tensor = owner._parameters.get(key, owner._buffers.get(key))
        if tensor is None or x is None or tuple(tensor.shape) != np.shape(x):
            owner._buffers[key] = None if x is None else torch.tensor(x)
        else:
            tensor.data.copy_(torch.tensor(x))

    def _differs(self, actual: _Result | None, expected: _Result, names: Sequence[str]) -> bool:
        """Return whether the outputs differ, or any value left behind except `names`."""
        if actual is None:
            return True
        owners = (self._owner(name) for name in names)
        own = tuple(f"{path}.{key}" if path else key for _, path, key in owners)
        parameters = {name for name, _ in self.module.named_parameters()}
        rest = {
            name
            for name in {*expected.left, *(actual.left.keys() & parameters)}
            if not any(name == x or name.startswith(f"{x}.") for x in own)
        }
        return not (
            _near(expected.outputs, actual.outputs, expected.outputs)
            and _near(expected.left, actual.left, rest)
        )


class _Result(NamedTuple):
    """The outputs of a call, and all values in the module after it."""

    outputs: Mapping[str, Any]
    left: Mapping[str, Any]


def _copied(x: Any, memo: dict[int, Any]) -> Any:
    """Copy the tensors, containers and objects in an attribute; `memo` holds the shared objects."""
    if id(x) in memo or isinstance(x, LEFT_ALONE):
        return memo.get(id(x), x)
    if isinstance(x, Tensor):
        new = x.detach().clone()
    elif isinstance(x, np.ndarray):
        new = x.copy()
    elif type(x) is tuple:
        new = tuple(_copied(y, memo) for y in x)
    elif isinstance(x, CONTAINERS) or attributes_of(x) is not None:
        new = memo[id(x)] = copy.copy(x)
        if isinstance(x, dict):
            refill(new, {key: _copied(y, memo) for key, y in x.items()})
        elif isinstance(x, CONTAINERS):
            refill(new, [_copied(y, memo) for y in x])
        for key, y in (attributes_of(x) or {}).items():
            vars(new)[key] = _copied(y, memo)
    else:
        return x
    memo[id(x)] = new
    return new


def _near(left: Mapping[str, Any], right: Mapping[str, Any], names: Iterable[str]) -> bool:
    """Return whether the values of `names` are equal up to rounding."""
    return all(_is_near(left.get(name), right.get(name)) for name in names)


def _is_near(x: Any, y: Any) -> bool:
    if _equal(x, y):
        return True
    arrays = isinstance(x, np.ndarray) and isinstance(y, np.ndarray)
    if not arrays or x.shape != y.shape or x.dtype.kind not in "fc" or y.dtype.kind not in "fc":
        return False
    return float(np.max(distance(y, x), initial=0.0)) <= _SAME * scale_of(x)
