"""A custom Function runs without its own backward."""

from typing import Any

import pytest
import torch

from jaxgrad.parity.prove.record.torch_side import functions
from jaxgrad.parity.prove.users import ProofError


class Doubled(torch.autograd.Function):
    """Return a square, with a gradient that is wrong by a factor of two."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        (x,) = ctx.saved_tensors
        return 4 * x * grads[0]


class Other(Doubled):
    """A Function of another name."""


class InPlace(torch.autograd.Function):
    """A Function that autograd cannot differentiate at a leaf."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> Any:
        return 2 * grads[0]


def gradient(function: type[torch.autograd.Function]) -> float:
    x = torch.tensor(3.0, requires_grad=True)
    function.apply(x).backward()
    assert x.grad is not None
    return float(x.grad)


def test_only_the_named_function_loses_its_backward():
    with functions.differentiated({functions.name_of(Doubled)}):
        assert (gradient(Doubled), gradient(Other)) == (6.0, 12.0)
    assert (gradient(Doubled), gradient(Other)) == (12.0, 12.0)


def test_without_names_nothing_is_replaced():
    before = vars(torch.autograd.Function)["apply"]
    with functions.differentiated(()):
        assert vars(torch.autograd.Function)["apply"] is before


def test_a_forward_that_autograd_cannot_differentiate_is_an_error_of_the_proof():
    lost = functions.differentiated({functions.name_of(InPlace)})
    with lost, pytest.raises(ProofError, match=r"InPlace\.forward raised RuntimeError"):
        gradient(InPlace)
