"""Convolutions of groups of channels have forms of their own on a CPU, with torch's results."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import functional
from jaxgrad.functional.nn.convolution import AT_ONCE


RNG = np.random.default_rng(0)
CASES: dict[str, Any] = {
    "same": (2, 3, dict(padding=1)),
    "stride": (2, 3, dict(padding=1, stride=2)),
    "dilation": (2, 3, dict(padding=(0, 2), dilation=(1, 2), stride=(2, 1))),
    "signals": (1, 4, dict(padding=3)),
    "volumes": (3, 2, dict(stride=2)),
    "five": (2, 5, dict(padding="same")),
}
MULTIPLIER = 2  # filters of each channel


def draws(name: str) -> tuple[Any, Any, dict[str, Any]]:
    rank, kernel, options = CASES[name]
    x = RNG.standard_normal((2, 3, *[7] * rank), np.float32)
    w = RNG.standard_normal((3 * MULTIPLIER, 1, *[kernel] * rank), np.float32)
    return x, w, {**options, "groups": 3}


def both(name: str) -> tuple[Any, Any]:
    rank = CASES[name][0]
    return getattr(functional, f"conv{rank}d"), getattr(torch.nn.functional, f"conv{rank}d")


def is_convolution(conv: Any, *args: Any, **options: Any) -> bool:
    return "conv_general" in str(jax.make_jaxpr(lambda *xs: conv(*xs, **options))(*args))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_torch(name):
    """A depthwise convolution is a sum of shifts, with torch's values and gradients."""
    x, w, options = draws(name)
    conv, torch_conv = both(name)
    assert not is_convolution(conv, x, w, **options)
    assert_as_in_torch(conv, torch_conv, x, w, options)


GROUPED: dict[str, Any] = {
    "two": ("conv2d", 4, 6, dict(groups=2, padding=1)),
    "stride": ("conv2d", 4, 4, dict(groups=2, stride=2, padding=(0, 1), dilation=(1, 2))),
    "loop": ("conv1d", 20, 10, dict(groups=10, padding="same")),
    "volumes": ("conv3d", 4, 2, dict(groups=2)),
    "transposed": ("conv_transpose2d", 4, 6, dict(groups=2, stride=2, padding=1)),
    "transposed loop": ("conv_transpose1d", 20, 30, dict(groups=10, stride=3, output_padding=1)),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", GROUPED)
def test_groups_are_convolved_one_by_one(name):
    """Each group has a convolution of its own, and more than 8 groups run in a loop."""
    function, inner, outer, options = GROUPED[name]
    conv, torch_conv = (getattr(m, function) for m in (functional, torch.nn.functional))
    groups = options["groups"]
    kernel = [3] * int(function[-2])
    shape = (inner, outer // groups) if "transpose" in function else (outer, inner // groups)
    x = RNG.standard_normal((2, inner, *(2 + k for k in kernel)), np.float32)
    w = RNG.standard_normal((*shape, *kernel), np.float32)

    program = str(jax.make_jaxpr(lambda x, w: conv(x, w, **options))(x, w))
    assert "feature_group_count=1" in program and f"feature_group_count={groups}" not in program
    assert f"unroll={min(groups, AT_ONCE)}" in program
    assert_as_in_torch(conv, torch_conv, x, w, options)


def assert_as_in_torch(conv: Any, torch_conv: Any, x: Any, w: Any, options: Any) -> None:
    """Errors in float32 are at most three times torch's, also of both derivatives; vmap agrees."""

    def by_torch(dtype: torch.dtype) -> list[np.ndarray]:
        args = [torch.tensor(a, dtype=dtype, requires_grad=True) for a in (x, w)]
        y = torch_conv(*args, **options)
        first = torch.autograd.grad(y.sin().sum(), args, create_graph=True)
        second = torch.autograd.grad([(g**2).sum() for g in first], args)
        return [v.detach().double().numpy() for v in (y, *first, *second)]

    def first(x: Any, w: Any) -> Any:
        return jax.grad(lambda *a: jnp.sin(conv(*a, **options)).sum(), (0, 1))(x, w)

    def squares(x: Any, w: Any) -> Any:
        return sum((g**2).sum() for g in first(x, w))

    run = jax.jit(
        lambda x, w: (conv(x, w, **options), *first(x, w), *jax.grad(squares, (0, 1))(x, w))
    )
    exact = by_torch(torch.float64)
    for a, b, right in zip(run(x, w), by_torch(torch.float32), exact, strict=True):
        scale = np.abs(right).max()
        assert np.abs(a - right).max() <= 3 * np.abs(b - right).max() + 2e-7 * scale
    mapped = jax.vmap(lambda one: conv(one, w, **options))(x)
    np.testing.assert_allclose(mapped, exact[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("place", ["weight", "input"])
def test_an_infinite_number_stays_in_its_channel(place):
    """A padding zero times an infinite weight is NaN as in torch, in its own channel alone."""
    x, w, options = draws("same")
    (w if place == "weight" else x)[1, 0, 0] = np.inf
    conv, torch_conv = both("same")
    want = torch_conv(torch.tensor(x), torch.tensor(w), **options).numpy()
    found = np.asarray(conv(x, w, **options))
    np.testing.assert_array_equal(np.isfinite(found), np.isfinite(want))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(want))


def test_other_convolutions_are_those_of_xla(monkeypatch):
    """One group, large depthwise filters and other devices use the convolution of XLA."""
    x, w, options = draws("same")
    assert is_convolution(functional.conv2d, x, w[:, [0, 0, 0]])
    large = np.ones((3, 1, 6, 6), np.float32)
    assert is_convolution(functional.conv2d, x, large, groups=3)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert is_convolution(functional.conv2d, x, w, **options)
    assert "scan" not in str(
        jax.make_jaxpr(lambda x, w: functional.conv2d(x, w, groups=2))(
            np.ones((1, 4, 3, 3), np.float32), np.ones((2, 2, 3, 3), np.float32)
        )
    )
