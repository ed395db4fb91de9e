"""An `autograd.Function` whose backward is differentiated is ported with its second derivative."""

from typing import Any

import jax
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.source.refusals import PortError
from tests.jaxgrad.parity.port._ports import agrees, proves, source


X = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):  # pyright: ignore[reportIncompatibleMethodOverride]
        (x,) = ctx.saved_tensors
        return 2 * CubeBackward.apply(x, grad)


class CubeBackward(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, grad):
        ctx.save_for_backward(x, grad)
        return 3 * x**2 * grad

    @staticmethod
    def backward(ctx, cotangent):  # pyright: ignore[reportIncompatibleMethodOverride]
        x, grad = ctx.saved_tensors
        return cotangent * 5 * x * grad, cotangent * 3 * x**2


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        h = self.first(x)
        (grad,) = torch.autograd.grad(Cube.apply(h).sum(), h, create_graph=True)
        return self.second(grad)


def test_the_gradient_of_a_function_is_differentiated():
    assert agrees(Twice(), X)
    assert not agrees(Twice(), X, without="cotangent * 5", instead="cotangent * 6")


class Swish(torch.autograd.Function):
    """Its decorators do nothing without autocast; only `x` can have a gradient."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, x, scale):  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x * torch.sigmoid(scale * x)

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):  # pyright: ignore[reportIncompatibleMethodOverride]
        (x,) = ctx.saved_tensors
        assert ctx.needs_input_grad[0] and not ctx.needs_input_grad[1]
        gate = torch.sigmoid(ctx.scale * x)
        return grad * gate * (1 + ctx.scale * x * (1 - gate)), None


class Swished(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return Swish.apply(self.fc(x), 2.0)


def test_a_function_with_the_decorators_of_mixed_precision():
    assert proves(Swished(), X)


class Scaled(torch.autograd.Function):
    """The identity, whose gradient is scaled by a number."""

    @staticmethod
    def forward(ctx, x, factor):  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.factor = factor
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):  # pyright: ignore[reportIncompatibleMethodOverride]
        return grad * ctx.factor, None


class TwoFactors(nn.Module):
    def forward(self, x):
        return Scaled.apply(x, 0.5) + Scaled.apply(x.sin(), 0.25)


def test_a_number_that_is_passed_to_a_function_is_read_from_its_argument():
    """So one class serves all numbers, and a caller may pass another one."""
    written = source(TwoFactors(), X)
    assert written.count("class Scaled") == 1
    assert "return grad * ctx.factor, None" in written
    names: dict[str, Any] = {}
    exec(written, names)
    gradient = jax.grad(lambda x: names["Scaled"](x, 0.125))(1.0)
    assert float(gradient) == 0.125
    assert proves(TwoFactors(), X)


class Normalized(torch.autograd.Function):
    """Numbers and a bool decide about axes, branches and values."""

    @staticmethod
    def forward(ctx, x, dim, low, doubled):  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.dim = dim
        y = torch.softmax(x, dim).clamp(low, 1 - low)
        if doubled:
            return (y * 2).unsqueeze(dim)
        return y.unsqueeze(dim)

    @staticmethod
    def backward(ctx, grad):  # pyright: ignore[reportIncompatibleMethodOverride]
        return grad.squeeze(ctx.dim) / grad.shape[ctx.dim - 1], None, None, None


class NormalizedRows(nn.Module):
    def forward(self, x):
        return Normalized.apply(x, -1, 0.2, True)


def test_what_depends_on_a_number_of_a_function_is_computed_from_it_or_asserted():
    """Another number then gives what torch gives, or an error."""
    written = source(NormalizedRows(), X)
    assert "jax.nn.softmax(x, axis=dim), min=low, max=1 - low)" in written
    names: dict[str, Any] = {}
    exec(written, names)
    rows = names["Normalized"](X, -1, 0.4, True)
    np.testing.assert_allclose(rows, Normalized.apply(torch.tensor(X), -1, 0.4, True), rtol=1e-6)
    with pytest.raises(AssertionError, match="this port holds for doubled: torch takes another"):
        names["Normalized"](X, -1, 0.4, False)
    assert proves(NormalizedRows(), X)


class Noisy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):  # pyright: ignore[reportIncompatibleMethodOverride]
        return x * torch.rand_like(x)

    @staticmethod
    def backward(ctx, grad):  # pyright: ignore[reportIncompatibleMethodOverride]
        return grad * torch.rand_like(grad)


class Shaken(nn.Module):
    def forward(self, x):
        return Noisy.apply(x)


def test_a_function_that_draws_is_refused():
    with pytest.raises(PortError, match="forward of Noisy draws random numbers, and its port gets"):
        source(Shaken(), X)


class Reversed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):  # pyright: ignore[reportIncompatibleMethodOverride]
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):  # pyright: ignore[reportIncompatibleMethodOverride]
        return -grad


class Reversal(nn.Module):
    def forward(self, x):
        return Reversed.apply(x)


def test_a_module_that_only_applies_a_function():
    assert proves(Reversal(), X)
    assert proves(nn.Sequential(nn.Linear(4, 4), Reversal()), X)
