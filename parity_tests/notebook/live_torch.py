"""Run torch for the check of an exercise."""

from collections.abc import Callable
from typing import Any

import torch


def leaf(value: Any) -> torch.Tensor:
    """Return a tensor that requires grad."""
    return torch.tensor(value, requires_grad=True)


def grads_of(loss: Callable[..., torch.Tensor], *values: Any) -> list[torch.Tensor | None]:
    """Return the `.grad` of each value after `loss(*values).backward()`."""
    leaves = [leaf(value) for value in values]
    loss(*leaves).backward()
    return [each.grad for each in leaves]
