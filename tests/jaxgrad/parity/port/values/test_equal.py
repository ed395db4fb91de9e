"""Two tensors are compared with NaN equal to NaN, and to nothing else."""

import pytest
import torch

from jaxgrad.parity.port.values.equal import same


NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        ([1.0, NAN], [1.0, NAN], True),
        ([0.0], [NAN], False),
        ([INF], [torch.finfo(torch.float32).max], False),
        ([INF, -INF], [INF, -INF], True),
        ([1, 2], [1, 2], True),
        ([1, 2], [1, 3], False),
        ([True], [False], False),
        ([1j], [1j], True),
        ([1.0], [1], False),
        ([1.0], [[1.0]], False),
    ],
)
def test_nan_equals_nan_alone(left, right, equal):
    assert same(torch.tensor(left), torch.tensor(right)) is equal


def test_sparse_tensors_are_compared_as_dense_ones():
    dense = torch.eye(2)

    assert same(dense.to_sparse(), dense)


def test_numbers_of_eight_bits_are_compared():
    ones = torch.ones(2).to(torch.float8_e4m3fn)

    assert same(ones, ones.clone())
    assert not same(ones, torch.zeros(2).to(torch.float8_e4m3fn))
