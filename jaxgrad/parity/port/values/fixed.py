"""Know the tensors of a run that depend on sizes and configuration alone, such as a causal mask.

A test on such a tensor has one answer for each size, so the port folds it; a test on any other
tensor has to stay a test.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode


_FILLED = ("new_zeros", "new_ones", "zeros_like", "ones_like")  # whatever the first tensor holds
_MARK = "_depends_on_sizes_alone"


class Marking(TorchFunctionMode):
    """Mark each new tensor of a run that is computed from marked tensors and numbers alone."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        fixed = getattr(func, "__name__", "") in _FILLED or all(
            map(is_fixed, _tensors((args, kwargs)))
        )
        before = torch.get_rng_state() if fixed else None
        result = func(*args, **kwargs)
        drew = before is not None and not torch.equal(before, torch.get_rng_state())
        if fixed and not drew:
            for tensor in _tensors(result):
                setattr(tensor, _MARK, True)
        elif args and isinstance(args[0], torch.Tensor) and _writes(func, result, args[0]):
            setattr(args[0], _MARK, False)
        return result


def is_fixed(tensor: torch.Tensor) -> bool:
    """Return whether a tensor of the run depends on sizes and configuration alone."""
    return getattr(tensor, _MARK, False)


def _writes(func: Any, result: Any, target: torch.Tensor) -> bool:
    return result is target or getattr(func, "__name__", "") == "__setitem__"


def _tensors(tree: Any) -> Iterator[torch.Tensor]:
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, dict):
        yield from _tensors(tuple(tree.values()))
    elif isinstance(tree, list | tuple):
        for part in tree:
            yield from _tensors(part)
