"""Find the values that a module accepts in its integer inputs, from the calls that read them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from jaxgrad.parity.prove.record.torch_side.redraws import Range
from jaxgrad.parity.prove.record.torch_side.trees import leaves


IGNORED = -100  # the `ignore_index` that torch passes if the user gives none
_LATER = ("scatter", "scatter_add", "scatter_reduce", "index_copy", "index_fill", "index_put")
_ALONG = ("gather", "index_select", "index_add", *_LATER)


class Ranges(TorchFunctionMode):
    """Watch the calls of one run, and collect the range of each integer input that they index with.

    An input is followed through views, copies and the addition of a constant.
    """

    def __init__(self, module: nn.Module):
        super().__init__()
        self.found: dict[int, Range] = {}  # position among the module's input tensors -> range
        self._sources: dict[int, tuple[int, int]] = {}  # address -> (position, added constant)
        self._held: list[Tensor] = []  # keeps tensors alive, so that addresses stay unique
        self._handle = module.register_forward_pre_hook(self._begin, with_kwargs=True)

    def _begin(self, module: nn.Module, args: Any, kwargs: Any) -> None:
        del module
        self._handle.remove()
        tensors = (x for x in leaves((args, kwargs)) if isinstance(x, Tensor))
        for position, x in enumerate(tensors):
            if not x.is_floating_point() and not x.is_complex() and x.dtype != torch.bool:
                self._sources[_address(x)] = position, 0
                self._held.append(x)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        kwargs = kwargs or {}
        name = getattr(func, "__name__", str(func))
        for index, accepted in _uses(name.rstrip("_") if name[:2] != "__" else name, args, kwargs):
            self._restrict(index, accepted)
        out = func(*args, **kwargs)
        self._follow(args, out)
        return out

    def _restrict(self, index: Any, accepted: Range) -> None:
        source = self._sources.get(_address(index)) if isinstance(index, Tensor) else None
        if source is None:
            return
        position, added = source
        special = tuple(s - added for s in accepted.special)
        moved = dataclasses.replace(
            accepted, low=accepted.low - added, high=accepted.high - added, special=special
        )
        known = self.found.get(position)
        self.found[position] = moved if known is None else known.intersect(moved)

    def _follow(self, args: Any, out: Any) -> None:
        """Record an integer result that equals an input, up to views and an added constant."""
        if not isinstance(out, Tensor) or out.is_floating_point() or out.dtype == torch.bool:
            return
        for x in args if _address(out) not in self._sources else ():
            source = self._sources.get(_address(x)) if isinstance(x, Tensor) else None
            if source is None or x.numel() != out.numel() or not x.numel() or out.is_complex():
                continue
            added = (out.reshape(-1) - x.reshape(-1)).unique()
            if len(added) == 1:
                self._sources[_address(out)] = source[0], source[1] + int(added)
                self._held.append(out)


def _address(x: Tensor) -> int:
    """Return the address of a tensor's numbers; a slice under `torch.vmap` has none."""
    try:
        return x.untyped_storage().data_ptr()
    except NotImplementedError:
        return -id(x)


def _uses(name: str, args: Any, kwargs: Any) -> Iterator[tuple[Any, Range]]:
    """Yield the index tensors of a call, each with the values that the call accepts."""

    def get(position: int, key: str, default: Any = None) -> Any:
        return args[position] if len(args) > position else kwargs.get(key, default)

    if name in ("embedding", "embedding_bag"):
        rows = get(1, "weight").shape[0]
        padding = get(2 if name == "embedding" else 10, "padding_idx")
        yield get(0, "input"), Range(0, rows, () if padding is None else (padding % rows,))
    elif name in ("cross_entropy", "nll_loss"):
        scores, ignored = get(0, "input"), get(4, "ignore_index", IGNORED)
        classes = scores.shape[min(1, scores.ndim - 1)]
        special, rare = ((), (ignored,)) if ignored == IGNORED else ((ignored,), ())
        yield get(1, "target"), Range(0, classes, special, rare=rare)
    elif name == "one_hot" and get(1, "num_classes", -1) > 0:
        yield get(0, "input"), Range(0, get(1, "num_classes"))
    elif name == "take_along_dim" and get(2, "dim") is not None:
        yield get(1, "indices"), Range(0, get(0, "input").shape[get(2, "dim")])
    elif name in _ALONG and isinstance(get(1, "dim"), int):
        size = get(0, "input").shape[get(1, "dim")]
        yield get(2, "index"), Range(0, size, distinct=name in _LATER)
    elif name in ("__getitem__", "__setitem__"):
        yield from _indexed(args[0], args[1], distinct=name == "__setitem__")


def _indexed(x: Tensor, index: Any, *, distinct: bool) -> Iterator[tuple[Any, Range]]:
    """Yield the tensors of an index `x[...]`, each with the size of its dimension."""
    parts = index if isinstance(index, tuple) else (index,)
    used = sum(part.ndim if _is_mask(part) else 1 for part in parts if not _is_new(part))
    axis = 0
    for part in parts:
        if part is Ellipsis:
            axis += x.ndim - (used - 1)
        elif not _is_new(part):
            if isinstance(part, Tensor) and not _is_mask(part):
                yield part, Range(0, x.shape[axis], distinct=distinct)
            axis += part.ndim if _is_mask(part) else 1


def _is_mask(part: Any) -> bool:
    return isinstance(part, Tensor) and part.dtype == torch.bool


def _is_new(part: Any) -> bool:
    """Whether a part of an index adds an axis."""
    return part is None or isinstance(part, bool)
