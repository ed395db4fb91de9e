"""FGSM: the sign of the input's gradient, and the probabilities of the true classes."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch.nn import functional

from parity_tests.figures.axes import Axes, Scale, bar, frame, key, linear
from parity_tests.figures.canvas import Point, both, labelled, svg, text
from parity_tests.figures.run import arrays, tensors


CASE = "backward/fgsm"


class Side(NamedTuple):
    """One framework's signs of the gradient, and the probabilities of the true classes."""

    signs: tuple[tuple[int, ...], ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    losses: tuple[float, float]


class Record(NamedTuple):
    epsilon: float
    torch: Side
    jax: Side


def record() -> Record:
    """Attack the case's inputs in torch and in JAX."""
    return Record(float(tensors(CASE)["epsilon"]), _in_torch(), _in_jax())


def _logits(net: Any, x: Any, relu: Callable[[Any], Any]) -> Any:
    """Apply L1, ReLU and L2; the arrays are those of either framework."""
    h = relu(x @ net["l1"]["weight"].T + net["l1"]["bias"])
    return h @ net["l2"]["weight"].T + net["l2"]["bias"]


def _in_torch() -> Side:
    given = tensors(CASE)
    net, x, labels = given["net"], given["x"].requires_grad_(), given["labels"]

    def model(x: Any) -> Any:
        return _logits(net, x, torch.relu)

    loss = functional.cross_entropy(model(x), labels)
    loss.backward()
    sign = x.grad.sign()

    def judged(x: Any) -> Any:
        rows = torch.log_softmax(model(x), 1)[torch.arange(len(labels)), labels].detach()
        return rows.exp().tolist(), -rows.mean().item()

    return _side(sign.tolist(), judged(x), judged(x + given["epsilon"] * sign))


def _in_jax() -> Side:
    given = arrays(CASE)
    labels = given["labels"]

    def rows(x: Any) -> Any:
        return jax.nn.log_softmax(_logits(given["net"], x, jax.nn.relu))[
            jnp.arange(len(labels)), labels
        ]

    def judged(x: Any) -> Any:
        return np.exp(rows(x)).tolist(), -float(rows(x).mean())

    sign = jnp.sign(jax.grad(lambda x: -rows(x).mean())(given["x"]))
    return _side(sign.tolist(), judged(given["x"]), judged(given["x"] + given["epsilon"] * sign))


def _side(signs: list[list[float]], before: Any, after: Any) -> Side:
    return Side(
        tuple(tuple(map(int, row)) for row in signs),
        tuple(before[0]),
        tuple(after[0]),
        (before[1], after[1]),
    )


def draw(record: Record) -> str:
    """Draw the signs of the perturbation by sample, and below them the probabilities as bars."""
    epsilon, torch_side, jax_side = record
    count = len(torch_side.signs)
    values = [*torch_side.before, *torch_side.after]
    axes = Axes(
        56,
        214,
        370,
        120,
        Scale(0, count, "sample", ()),
        linear(values, "probability of the true class", zero=True),
    )
    parts = [text(14, 24, f"what is added to the inputs: ± {both(epsilon, epsilon)}", "bold")]
    for sample, row in enumerate(torch_side.signs):
        x = axes.at(sample + 0.5, 0).x
        for i, sign in enumerate(row):
            other = jax_side.signs[sample][i]
            words = {1: "+", -1: "−", 0: "0"}[sign] if sign == other else "differs"
            look = {1: "violet", -1: "kept", 0: "plain"}[sign]
            parts.append(labelled(Point(x, 50 + 26 * i), 52, words, look, height=22))
    inputs = range(len(torch_side.signs[0]))
    parts += [text(14, 54 + 26 * i, f"x{i}", "faint") for i in inputs]
    parts.append(frame(axes))
    for i in range(count):
        parts.append(bar(axes, i + 0.18, i + 0.48, torch_side.before[i], "plain"))
        parts.append(bar(axes, i + 0.52, i + 0.82, torch_side.after[i], "error"))
        parts.append(text(axes.at(i + 0.5, 0).x, 352, str(i), "middle faint"))
        for shift, value in ((0.33, jax_side.before[i]), (0.67, jax_side.after[i])):
            x, y = axes.at(i + shift, value)
            parts.append(labelled(Point(x, y), 7, "", "jax solid", height=3))
    first, second = (both(*pair) for pair in zip(torch_side.losses, jax_side.losses, strict=True))
    entries = (("box", "plain", "torch, before"), ("box", "error", "after"), ("line", "jax", "JAX"))
    parts.append(key(14, 396, entries))
    parts.append(text(14, 420, f"mean loss {first} before, {second} after"))
    return svg("FGSM: a step along the gradient's sign makes the true class unlikelier", parts, 434)
