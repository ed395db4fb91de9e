"""Trees of arrays are copied between numpy, torch and JAX, and nothing else is touched."""

import collections
from typing import Any, NamedTuple

import jax
import ml_dtypes
import numpy as np
import pytest
import torch

from jaxgrad.parity import interop


class Pair(NamedTuple):
    left: Any
    right: Any


@pytest.mark.parametrize(
    ("tree", "mapped"),
    [
        ({"a": 1, "b": [2, (3,)]}, {"a": 2, "b": [3, (4,)]}),
        (Pair(1, Pair(2, 3)), Pair(2, Pair(3, 4))),
        (collections.OrderedDict(a=1), {"a": 2}),
        (4, 5),
    ],
)
def test_every_leaf_is_mapped(tree, mapped):
    """Lists, tuples and named tuples keep their type."""
    result = interop.map_leaves(lambda x: x + 1, tree)
    assert result == mapped and type(result) is type(mapped)


def test_an_object_with_fields_is_a_leaf():
    """Only a tuple with `_fields` is a named tuple."""

    class Other:
        _fields = ("a",)

    leaf = Other()
    assert interop.map_leaves(lambda x: x, [leaf])[0] is leaf


@pytest.mark.parametrize(
    ("dtype", "source", "expected"),
    [
        (np.float32, np.float64, np.float32),
        (np.float64, ml_dtypes.bfloat16, np.float64),
        (np.float64, np.complex64, np.complex128),
        (np.float32, np.complex128, np.complex64),
        (np.float32, np.int64, np.int64),
        (np.float32, np.bool_, np.bool_),
    ],
)
def test_a_cast_changes_inexact_leaves_alone(dtype, source, expected):
    """Complex leaves take the complex dtype of the same precision."""
    (x,) = interop.cast((np.ones(2, source),), dtype)
    assert x.dtype == expected


@pytest.mark.parametrize("move", [interop.to_torch, interop.to_jax, interop.to_numpy])
def test_leaves_that_are_not_arrays_stay(move):
    """Moving and casting leave values that are not arrays unchanged."""
    leaves = ["a", 3, None, 2.5]
    assert move(leaves) == leaves == interop.cast(leaves, np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, ml_dtypes.bfloat16])
@pytest.mark.parametrize("move", [interop.to_torch, interop.to_jax])
def test_a_copy_shares_no_memory_and_keeps_every_bit(move, dtype):
    """Changing the source later does not change the copy."""
    x = np.arange(6).reshape(2, 3).astype(dtype).T  # not contiguous
    before = x.copy()
    with jax.enable_x64(True):
        y = move(x)
        x[:] = 0
        back = interop.to_numpy(y)
    assert isinstance(y, torch.Tensor if move is interop.to_torch else jax.Array)
    assert back.dtype == before.dtype and np.array_equal(back, before)


def test_a_dtype_that_jax_would_narrow_is_refused():
    """The message says how 64-bit values are switched on."""
    with jax.enable_x64(False):
        with pytest.raises(ValueError, match="float64 was asked for, but JAX would give float32"):
            interop.to_jax(np.ones(2))
        assert interop.to_jax(np.ones(2, np.float32)).dtype == np.float32
