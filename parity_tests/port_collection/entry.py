"""A torch module of the collection, with inputs of two sizes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn


Inputs = tuple[Any, ...] | dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Entry:
    """A torch module, and the inputs on which its port is proved.

    Attributes:
        make: Constructor of the module.
        inputs: Example inputs of the port.
        also: Inputs of another size.
    """

    make: Callable[[], nn.Module]
    inputs: Inputs
    also: Inputs | None = None

    def module(self) -> nn.Module:
        """Return the module with weights that depend on no other module."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return self.make()


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Draw float32 numbers from the normal distribution."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def uniform(*shape: int, seed: int = 0) -> np.ndarray:
    """Draw float32 numbers between 0 and 1."""
    return np.random.default_rng(seed).random(shape).astype(np.float32)


def integers(high: int, *shape: int, seed: int = 0) -> np.ndarray:
    """Draw integers from 0 to `high - 1`."""
    return np.random.default_rng(seed).integers(high, size=shape)
