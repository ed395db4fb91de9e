"""Borrow the user's module: run it in float64 in place, and give it back exactly as it was.

A copy of a module loses hooks on parameters, and functions that refer to the original (a forward
that is replaced, an optimizer factory that names layers). The module itself loses nothing.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from jaxgrad.parity.prove.record.lazy import Lazy
from jaxgrad.parity.prove.record.torch_side.snapshot import Snapshot
from jaxgrad.parity.prove.record.torch_side.trees import is_inexact, viewed


@dataclasses.dataclass(frozen=True)
class _Lent:
    """A tensor of the module, with what it had when it was borrowed."""

    tensor: Tensor
    data: Tensor
    grad: Tensor | None
    requires_grad: bool

    def give_back(self) -> None:
        self.tensor.grad = None  # a gradient must have the dtype of the data
        self.tensor.data = self.data
        if self.tensor.is_leaf:
            self.tensor.requires_grad_(self.requires_grad)
        self.tensor.grad = self.grad


class Borrowed:
    """The user's module on the CPU in float64, until it is given back."""

    def __init__(self, module: nn.Module):
        self.module = module
        self._snapshot = Snapshot(module)
        named = {id(x): x for x in (*module.parameters(), *module.buffers())}
        # A plain attribute may be a view of a parameter, which changes with it.
        places = {place for x in named.values() if (place := _storage(x)) is not None}
        views = [x for x in self._snapshot.tensors if _storage(x) in places]
        self._lent = [
            _Lent(x, x.data, x.grad if x.is_leaf else None, x.requires_grad)
            for x in (*named.values(), *views)
        ]
        self._freed: list[_Lent] = []  # tensors that have the user's data for now
        self._set(converted([lent.data for lent in self._lent], torch.float64))

    def _set(self, values: Sequence[Tensor]) -> None:
        for lent, data in zip(self._lent, values, strict=True):
            lent.tensor.grad = None
            lent.tensor.data = data

    @property
    def shares_memory(self) -> bool:
        """Whether several parameters or buffers are views of one memory."""
        places = [_storage(lent.tensor) for lent in self._lent]
        known = [place for place in places if place is not None]
        return len(set(known)) < len(known)

    def state(self) -> Lazy:
        """Return the user's parameters and buffers, which are cast to float64 when they are read.

        Tied ones are under their first name.
        """
        named = [*self.module.named_parameters(), *self.module.named_buffers()]
        lent = {id(lent.tensor): lent.data for lent in self._lent}
        data = {name: lent[id(x)] for name, x in named}

        def stored(name: str) -> np.ndarray:
            x = data[name].detach()
            plain = x.device.type == "cpu" and x.dtype == torch.float32
            return viewed(x) if plain else viewed(_copy(x, torch.float64))

        return Lazy(data, lambda name: viewed(_copy(data[name], torch.float64)), stored)

    def rewind(self) -> None:
        """Put back everything but the weights, so that the next run starts as the first did."""
        self._snapshot.rewind()

    @contextlib.contextmanager
    def in_dtype(self, dtype: torch.dtype | None) -> Iterator[None]:
        """Give the module another dtype inside a `with` block; None restores the user's dtypes."""
        values = [lent.data if dtype is None else lent.tensor.data for lent in self._lent]
        with self._holding(converted(values, dtype)):
            yield

    def as_given(self) -> contextlib.AbstractContextManager[None]:
        """Give the module the user's own data inside a `with` block, which must not change it."""
        return self._holding([lent.data for lent in self._lent])

    @contextlib.contextmanager
    def _holding(self, values: Sequence[Tensor]) -> Iterator[None]:
        before, freed = [lent.tensor.data for lent in self._lent], self._freed
        self._freed = []  # these tensors have other data inside the block
        try:
            self._set(values)
            yield
        finally:
            self._set(before)
            self._freed = freed

    def free(self) -> None:
        """Free the float64 copies of the parameters, which have the user's data until `widen`.

        Tensors that share memory stay as they are.
        """
        if self._freed or self.shares_memory:
            return
        parameters = {id(p) for p in self.module.parameters()}
        self._freed = [lent for lent in self._lent if id(lent.tensor) in parameters]
        for lent in self._freed:
            lent.tensor.grad = None
            lent.tensor.data = lent.data

    def widen(self) -> bool:
        """Give parameters that are free the user's numbers in float64; whether there are any."""
        freed, self._freed = self._freed, []
        for lent in freed:
            lent.tensor.data = _copy(lent.data, torch.float64)
        return bool(freed)

    def give_back(self) -> None:
        """Give the module back with the data, gradients, attributes and hooks that it had."""
        self._freed = []
        for lent in self._lent:
            lent.give_back()
        self._snapshot.restore()


def converted(tensors: Sequence[Tensor], dtype: torch.dtype | None) -> list[Tensor]:
    """Copy tensors to the CPU, floating ones in `dtype`; views of one memory stay views of one.

    If `dtype` is None, each tensor keeps its own.
    """
    groups: dict[Any, list[int]] = {}
    for i, x in enumerate(tensors):
        groups.setdefault((_storage(x) or i, x.dtype), []).append(i)
    copies: dict[int, Tensor] = {}
    for numbers in groups.values():
        members = [tensors[i].detach() for i in numbers]
        if len(members) == 1:
            copies[numbers[0]] = _copy(members[0], dtype)
            continue
        low = min(x.storage_offset() for x in members)
        high = max(x.storage_offset() + _extent(x) for x in members)
        whole = _copy(members[0].as_strided((high - low,), (1,), low), dtype)
        for i, x in zip(numbers, members, strict=True):
            copies[i] = whole.as_strided(x.shape, x.stride(), x.storage_offset() - low)
    return [copies[i] for i in range(len(tensors))]


def _copy(x: Tensor, dtype: torch.dtype | None) -> Tensor:
    if dtype is None or not is_inexact(x):
        dtype = x.dtype
    elif x.is_complex():
        dtype = dtype.to_complex()
    return x.detach().to("cpu", dtype, copy=True)


def _storage(x: Tensor) -> Any:
    """Return the identity of the memory that a tensor is a view of; None if it has none."""
    if x.layout != torch.strided or not x.numel():
        return None
    return x.device, x.untyped_storage().data_ptr()


def _extent(x: Tensor) -> int:
    """Return the number of elements of memory from a tensor's first to its last."""
    return 1 + sum((n - 1) * step for n, step in zip(x.shape, x.stride(), strict=True))
