"""The strong Wolfe line search takes torch's steps."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch.optim.lbfgs import _strong_wolfe as torch_search

from jaxgrad.optim._lbfgs.wolfe import Point, strong_wolfe


def draw_search(rng: np.random.Generator) -> Any:
    """Draw function parameters, a point, a slope factor, a step length and an iteration limit."""
    kind = str(rng.choice(["hills", "period", "kink", "hole"], p=[0.4, 0.2, 0.2, 0.2]))
    ripple, kink = rng.choice([0.0, 0.3, 2.0], 2)
    bowl, slope, place, wave = *rng.uniform(0.05, 1, 2), rng.uniform(-2, 2), rng.uniform(1, 9)
    hole, width, x = 0.0, 0.0, rng.standard_normal(2)
    factor, t = rng.choice([0.1, 1.0, 30.0]), 10 ** rng.uniform(-1, 1)
    if kind == "period":  # as high as the start, except for a faint slope
        bowl, kink, ripple, factor, x[:] = 0.0, 0.0, 1.0, 1.0, x[0]
        slope = wave * rng.choice([-1, 1]) * 10 ** rng.uniform(-7, -4)
        t = 2 * np.pi / wave / abs(slope + wave * np.cos(wave * x[0]))
    elif kind == "kink":  # a kink; the slopes on both sides are as steep as at the start
        bowl, slope, kink, ripple, factor, x[:] = 0.0, rng.uniform(-0.05, 0.05), 2.0, 0.0, 1.0, x[0]
        t = abs(x[0] - place) / 2 * rng.uniform(1.2, 4)
    elif kind == "hole":  # an interval in which the function is NaN
        hole, width, ripple = 0.1, rng.uniform(0.05, 0.5), 0.0
    most = rng.choice([1, 2, 3, 5] if kind in {"period", "hole"} else [1, 2, 3, 5, 25, 80])
    return (bowl, slope, kink, place, ripple, wave, hole, width), x, factor, t, most


@pytest.mark.slow
def test_line_search():
    """On hills, ripples, kinks and holes the search returns torch's point and evaluation count."""

    def fun(at: Any, x: Any) -> Any:
        lib: Any = torch if isinstance(x, torch.Tensor) else jnp
        bowl, slope, kink, place, ripple, wave, hole, width = at
        far = lib.abs(x - place)
        edges = kink * far + hole * lib.sqrt(far * far - width * width)
        return (bowl * x * x + slope * x + ripple * lib.sin(wave * x) + edges).sum()

    def ours(at: Any, x: Any, factor: Any, t: Any, most: Any) -> Any:
        f, g = jax.value_and_grad(fun, 1)(at, x)
        d = -g * factor
        start = Point(0.0 * t, f, g, g @ d)
        point, evals = strong_wolfe(
            lambda t: jax.value_and_grad(fun, 1)(at, x + t * d), start, t, d, most
        )
        return point.t, point.f, evals

    rng = np.random.default_rng(2)
    searches = [draw_search(rng) for _ in range(500)]
    columns = jax.tree.map(lambda *x: np.stack(x), *searches)
    for (at, x, factor, t, most), result in zip(
        searches, zip(*jax.jit(jax.vmap(ours))(*columns), strict=True), strict=True
    ):

        def value(x: Any, t: Any, d: Any, at: Any = at) -> Any:
            point = (x + t * d).requires_grad_()
            f = fun(at, point)
            return f.item(), torch.autograd.grad(f, point)[0]

        start = torch.tensor(x)
        f, g = value(start, 0.0, torch.zeros(2, dtype=torch.float64))
        d = -g * float(factor)
        loss, _, length, evals = torch_search(value, start, t, d, f, g, g.dot(d), max_ls=most)

        np.testing.assert_allclose(result, (length, loss, evals), rtol=1e-6, atol=1e-9)
