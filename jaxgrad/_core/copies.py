"""Fresh numpy copies of arrays from any framework, without importing torch.

A copy never shares memory with its source: an in-place `optimizer.step()` in torch would otherwise
change the "immutable" JAX array too, and every comparison would pass.
"""

from __future__ import annotations

import sys
from typing import Any

import jax
import ml_dtypes
import numpy as np


BIT_VIEWS = {"bfloat16": ml_dtypes.bfloat16}  # torch cannot hand these dtypes to numpy itself


def copy_to_numpy(x: Any) -> Any:
    """Return a torch, JAX or numpy array as a fresh numpy array, and any other value unchanged."""
    if isinstance(x, jax.Array | np.ndarray | np.generic):
        return np.array(x, copy=True)
    return _tensor_to_numpy(x) if is_tensor(x) else x


def is_tensor(x: Any) -> bool:
    """Whether a value is a torch tensor, without importing torch."""
    return type(x).__module__.split(".")[0] == "torch" and hasattr(x, "detach")


def _tensor_to_numpy(x: Any) -> np.ndarray:
    x = x.detach().cpu().resolve_conj().resolve_neg().to_dense()
    name = str(x.dtype).removeprefix("torch.")
    if name in BIT_VIEWS:
        torch = sys.modules["torch"]  # imported already: `x` is a torch tensor
        return np.array(x.contiguous().view(torch.int16).numpy()).view(BIT_VIEWS[name])
    return np.array(x.numpy(), copy=True)
