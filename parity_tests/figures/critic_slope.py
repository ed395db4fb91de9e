"""The slope of a WGAN critic during training, with and without the gradient penalty."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import torch

from parity_tests.figures.axes import Axes, Scale, curve, dots, frame, key, logarithmic
from parity_tests.figures.canvas import line, svg, text


STEPS, RATE, WEIGHT = 300, 0.005, 10.0


class Slopes(NamedTuple):
    """The critic's mean slope before each step."""

    torch: tuple[float, ...]
    jax: tuple[float, ...]


class Record(NamedTuple):
    penalized: Slopes
    free: Slopes


def record() -> Record:
    """Train the same critic in torch and in JAX, once with the penalty and once without it."""
    given = _data()
    penalized, free = (Slopes(_in_torch(*given, w), _in_jax(*given, w)) for w in (WEIGHT, 0.0))
    return Record(penalized, free)


def _data() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return two point clouds, and the initial weights of the critic's two layers."""
    rng = np.random.default_rng(0)
    real, fake = rng.standard_normal((64, 2)) + 1, rng.standard_normal((64, 2)) - 1
    return real, fake, rng.standard_normal((2, 32)) / 2, rng.standard_normal(32) / 6


def _in_torch(*given: Any) -> tuple[float, ...]:
    *arrays, weight = given
    real, fake, w, v = (torch.tensor(array) for array in arrays)
    params = [w.requires_grad_(), v.requires_grad_()]
    optimizer = torch.optim.SGD(params, lr=RATE)
    slopes = []

    def critic(x: Any) -> Any:
        return torch.tanh(x @ w) @ v

    for _ in range(STEPS):
        between = ((real + fake) / 2).requires_grad_()
        (grad,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        slope = grad.norm(dim=1)
        loss = critic(fake).mean() - critic(real).mean() + weight * ((slope - 1) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        slopes.append(slope.mean().item())
    return tuple(slopes)


def _in_jax(*given: Any) -> tuple[float, ...]:
    *arrays, weight = given
    real, fake, w, v = map(jnp.asarray, arrays)

    def critic(params: Any, x: Any) -> Any:
        return jnp.tanh(x @ params[0]) @ params[1]

    def loss(params: Any) -> Any:
        grad = jax.grad(lambda x: critic(params, x).sum())((real + fake) / 2)
        slope = jnp.linalg.norm(grad, axis=1)
        distance = critic(params, real).mean() - critic(params, fake).mean()
        return weight * jnp.mean((slope - 1) ** 2) - distance, slope.mean()

    def step(params: Any, _: Any) -> Any:
        grads, slope = jax.grad(loss, has_aux=True)(params)
        return jax.tree.map(lambda p, g: p - RATE * g, params, grads), slope

    return tuple(map(float, jax.lax.scan(step, (w, v), length=STEPS)[1]))


def draw(record: Record) -> str:
    """Draw the slope by step on a logarithmic axis, with a line at 1."""
    values = [*record.penalized.torch, *record.free.torch]
    steps = range(STEPS)
    x = Scale(0, STEPS, "step", range(0, STEPS + 1, 100))
    axes = Axes(56, 66, 366, 180, x, logarithmic(values, "mean slope between real and fake"))
    some = list(range(0, STEPS, 12))
    parts = [
        text(14, 26, "The penalty holds the critic's slope near 1", "bold"),
        frame(axes),
        line([axes.at(0, 1), axes.at(STEPS, 1)], "kept"),
    ]
    for name, slopes, look in (
        ("without the penalty", record.free, "torch wide dashed"),
        ("with the penalty", record.penalized, "torch wide"),
    ):
        parts.append(curve(axes, steps, slopes.torch, look))
        parts.append(dots(axes, some, [slopes.jax[i] for i in some], "jax"))
        end = axes.at(STEPS, slopes.torch[-1])
        parts.append(text(end.x, end.y - 12, name, "end"))
    parts.append(
        key(
            56,
            306,
            (("line", "torch wide", "torch"), ("dot", "jax", "JAX"), ("line", "kept", "slope 1")),
        )
    )
    return svg("The slope of a critic with and without the gradient penalty", parts, 320)
