"""Test whether two torch tensors are equal."""

from __future__ import annotations

import torch


def same(left: torch.Tensor, right: torch.Tensor) -> bool:
    """Return whether two tensors, which may be sparse, have equal values; NaN equals NaN."""
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    left, right = (x if x.layout == torch.strided else x.to_dense() for x in (left, right))
    if left.is_floating_point() and left.element_size() == 1:  # torch has few kernels for float8
        left, right = left.float(), right.float()
    both = left.isnan() & right.isnan()
    return torch.equal(left.masked_fill(both, 0), right.masked_fill(both, 0))
