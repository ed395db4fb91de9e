"""A depthwise convolution is a sum of shifts on a CPU, with torch's values and gradients."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import functional


RNG = np.random.default_rng(0)
CASES: dict[str, Any] = {
    "same": (2, 3, dict(padding=1)),
    "stride": (2, 3, dict(padding=1, stride=2)),
    "dilation": (2, 3, dict(padding=(0, 2), dilation=(1, 2), stride=(2, 1))),
    "five": (2, 5, dict(padding="same")),
    "signals": (1, 4, dict(padding=3)),
    "volumes": (3, 2, dict(stride=2)),
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


@pytest.mark.parametrize("name", CASES)
def test_values_and_gradients_are_those_of_torch(name):
    """The errors in float32 are at most about torch's own, for both derivatives and a vmap."""
    x, w, options = draws(name)
    conv, torch_conv = both(name)
    assert not is_convolution(conv, x, w, **options)

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
    """One group, large filters and other devices use the convolution of XLA."""
    x, w, options = draws("same")
    assert is_convolution(functional.conv2d, x, w[:, [0, 0, 0]])
    large = np.ones((3, 1, 6, 6), np.float32)
    assert is_convolution(functional.conv2d, x, large, groups=3)
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert is_convolution(functional.conv2d, x, w, **options)
