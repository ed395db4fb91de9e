"""Draw the figures of docs/tape_or_transform.md: `python -m parity_tests.site.chain_figure`.

Each shows `(tanh(w * x))**2` at w = 2 and x = 0.5, with the numbers of a run. A phone shows the
variants whose names end in `-narrow`: there the passes run down and up.
"""

import functools
import pathlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import torch

from parity_tests.figures.canvas import Point, arrow, labelled, line, number, svg, text


FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs" / "_static"
X, W = 0.5, 2.0
FUNS = (functools.partial(jnp.multiply, X), jnp.tanh, jnp.square)
NODES = ("MulBackward0", "TanhBackward0", "PowBackward0")
VALUES = ("w", "u", "h", "ℓ")
OPS = ("× x", "tanh", "square")
SLOPES = ("x", "1−h²", "2h")  # the derivative of each operation
WIDE, NARROW = 850.0, 374.0  # a page of the docs has about 816 pixels, a phone 358


class Lane(NamedTuple):
    """A row of the wide figure, a column of the narrow one."""

    at: float  # its y, or x
    names: Sequence[str]  # of its values
    values: Sequence[float]
    ops: Sequence[str]
    look: str = "plain"
    back: bool = False  # whether it runs from the loss to w


class Frame(NamedTuple):
    """The direction of the passes and their size."""

    wide: bool

    def value(self, lane: Lane, i: int) -> Point:
        return Point(46 + 252 * i, lane.at) if self.wide else Point(lane.at, 52 + 108 * i)

    def op(self, lane: Lane, i: int) -> Point:
        a, b = self.value(lane, i), self.value(lane, i + 1)
        return Point((a.x + b.x) / 2, (a.y + b.y) / 2)

    def draw(self, lane: Lane) -> list[str]:
        """Draw values and operations, with arrows between them in the direction of the pass."""
        parts = [text(*self.title(lane), _title(lane, self.wide), self.anchor(lane))]
        for i, (name, value) in enumerate(zip(lane.names, lane.values, strict=True)):
            at = self.value(lane, i)
            short = self.wide and "∂" in name  # two lines leave room for the arrows
            if short:
                parts.append(text(at.x, at.y - 4, name, "middle"))
                parts.append(text(at.x, at.y + 13, number(value), "middle"))
            else:
                parts.append(text(at.x, at.y + 4.5, f"{name} = {number(value)}", "middle"))
            if i < len(lane.ops):
                parts += self.step(lane, i, 34 if short else 42)
        return parts

    def step(self, lane: Lane, i: int, half: float) -> list[str]:
        """Draw an operation with an arrow on each side; `half` is half the width of a value."""
        middle, lines = self.op(lane, i), lane.ops[i].split("\n")
        tall = 40 if len(lines) > 1 else 28
        parts = [labelled(middle, 118, "" if lines[1:] else lines[0], lane.look, height=tall)]
        for k, words in enumerate(lines if lines[1:] else ()):
            parts.append(text(middle.x, middle.y - 4 + 17 * k, words, "middle"))
        for near, far, value in ((i, -1, half), (i + 1, 1, half)):
            end = self.value(lane, near)
            if self.wide:
                a = Point(end.x - far * value, end.y)
                b = Point(middle.x + far * 61, middle.y)
            else:
                a = Point(end.x, end.y - far * 11)
                b = Point(middle.x, middle.y + far * (tall / 2 + 2))
            towards = (far < 0) != lane.back  # from the first value into the operation
            start, stop = (a, b) if towards else (b, a)
            parts.append(arrow(start, stop, lane.look))
        return parts

    def title(self, lane: Lane) -> Point:
        return Point(4, lane.at - 26) if self.wide else Point(lane.at, 20)

    def anchor(self, lane: Lane) -> str:
        return "faint" if self.wide else "faint middle"

    def kept(self, upper: Lane, at: float, lower: Lane, i: int, words: str) -> list[str]:
        """Draw a kept value between an operation and the step of the backward pass that uses it."""
        a, b = self.op(upper, i), self.op(lower, i)
        middle = Point(a.x, at) if self.wide else Point(at, a.y)
        room = 20 if "\n" in lower.ops[i] else 14
        if self.wide:
            ends = (Point(a.x, a.y + 14), Point(b.x, b.y - room))
        else:
            ends = (Point(a.x + 59, a.y), Point(b.x - 59, b.y))
        lines = words.split("\n")
        return [
            line(ends, "plain thin"),
            labelled(middle, 108, "", "kept", height=7 + 17 * len(lines)),
            *(
                text(middle.x, middle.y + 4.5 + 17 * (k - (len(lines) - 1) / 2), each, "middle")
                for k, each in enumerate(lines)
            ),
            *([text(4, at + 4.5, "kept", "faint")] if self.wide and i == 0 else []),
        ]


def _title(lane: Lane, wide: bool) -> str:
    if lane.names[0] == "∂ℓ/∂w" and lane.back:
        return "← backward" if wide else "↑ backward"
    words = "tangents" if "∂" in lane.names[0] else "forward"
    return f"{words} →" if wide else f"{words} ↓"


def figures() -> dict[str, str]:
    """Return the figures by their file names."""
    return {
        f"{name}{'' if wide else '-narrow'}.svg": draw(Frame(wide))
        for name, draw in (("tape", tape), ("jvp", jvp), ("vjp", vjp), ("residuals", residuals))
        for wide in (True, False)
    }


def tape(frame: Frame) -> str:
    """Draw torch's nodes with what they keep, and the walk through them."""
    values, _, cotangents = numbers()
    factors = [f"{node}\n{factor}" for node, factor in zip(NODES, _factors(), strict=True)]
    forward = Lane(46 if frame.wide else 60, VALUES, values, OPS)
    backward = Lane(
        164 if frame.wide else 312, _cotangents(), cotangents, factors, "torch", back=True
    )
    parts = frame.draw(forward)
    for i, words in enumerate(saved()):
        parts += frame.kept(forward, 103 if frame.wide else 186, backward, i, words)
    parts += frame.draw(backward)
    first = frame.value(backward, 0)
    leaf = Point(64, 226) if frame.wide else Point(first.x - 126, first.y)
    parts.append(labelled(leaf, 118, "AccumulateGrad", "torch"))
    grad = f"w.grad = {number(cotangents[0])}"
    if frame.wide:
        parts.append(arrow(Point(46, 180), Point(46, 210), "torch"))
        parts.append(text(132, 230.5, grad, "bold"))
    else:
        parts.append(arrow(Point(first.x - 54, first.y), Point(leaf.x + 61, leaf.y), "torch"))
        parts.append(text(leaf.x, leaf.y + 30, grad, "middle bold"))
    title = "The tape: three recorded nodes, the values that they keep, and the walk back to w"
    return _svg(frame, title, parts, 250)


def jvp(frame: Frame) -> str:
    """Draw each value beside its tangent."""
    values, tangents, _ = numbers()
    forward = Lane(46 if frame.wide else 90, VALUES, values, OPS)
    linear = Lane(120 if frame.wide else 284, _tangents(), tangents, _factors(), "jax")
    parts = [*frame.draw(forward), *frame.draw(linear)]
    return _svg(frame, "The JVP: each value travels with its tangent", parts, 150)


def vjp(frame: Frame) -> str:
    """Draw the linear part forward and backward."""
    _, tangents, cotangents = numbers()
    linear = Lane(46 if frame.wide else 90, _tangents(), tangents, _factors(), "jax")
    backward = Lane(
        120 if frame.wide else 284, _cotangents(), cotangents, _factors(), "jax", back=True
    )
    parts = [*frame.draw(linear), *frame.draw(backward)]
    return _svg(frame, "The VJP: the linear part runs backward", parts, 150)


def residuals(frame: Frame) -> str:
    """Draw what JAX keeps for the backward pass."""
    values, _, cotangents = numbers()
    forward = Lane(46 if frame.wide else 60, VALUES, values, OPS)
    backward = Lane(
        158 if frame.wide else 312, _cotangents(), cotangents, _factors(), "jax", back=True
    )
    parts = frame.draw(forward)
    for i, words in enumerate(kept()):
        parts += frame.kept(forward, 100 if frame.wide else 186, backward, i, words)
    parts += frame.draw(backward)
    version = f"JAX {jax.__version__}"
    corner = (Point(WIDE - 4, 204), "end faint") if frame.wide else (Point(186, 20), "middle faint")
    parts.append(text(*corner[0], version, corner[1]))
    title = "Residuals: values that the forward pass keeps for the backward pass"
    return _svg(frame, title, parts, 214)


def _svg(frame: Frame, title: str, parts: Sequence[str], height: float) -> str:
    return svg(title, parts, *((height, WIDE) if frame.wide else (402.0, NARROW))) + "\n"


def _cotangents() -> tuple[str, ...]:
    return tuple(f"∂ℓ/∂{name}" for name in VALUES)


def _tangents() -> tuple[str, ...]:
    return tuple(f"∂{name}/∂w" for name in VALUES)


def _factors() -> tuple[str, ...]:
    return tuple(f"× {number(t)} ({s})" for t, s in zip(_local(), SLOPES, strict=True))


def numbers() -> tuple[list[float], ...]:
    """Return the values, the tangents along w, and the cotangents of w, u, h and the loss."""

    def after(start: int, v: Any) -> Any:
        for fun in FUNS[start:]:
            v = fun(v)
        return v

    values: list[Any] = [jnp.float32(W)]
    for fun in FUNS:
        values.append(fun(values[-1]))
    tangents: list[Any] = [jnp.float32(1)]
    for local in _local():
        tangents.append(tangents[-1] * local)
    cotangents = [jax.grad(functools.partial(after, start))(v) for start, v in enumerate(values)]
    return tuple(list(map(float, row)) for row in (values, tangents, cotangents))


def _local() -> list[float]:
    """Return the derivative of each operation at its input."""
    v, slopes = jnp.float32(W), []
    for fun in FUNS:
        slopes.append(float(jax.grad(fun)(v)))
        v = fun(v)
    return slopes


def saved() -> list[str]:
    """Return what each torch node keeps, as `name = value`."""
    w, x = torch.tensor(W, requires_grad=True), torch.tensor(X)
    u = w * x
    h = torch.tanh(u)
    named = {"x": x, "u": u, "h": h}
    words = []
    for node in (u.grad_fn, h.grad_fn, (h**2).grad_fn):
        tensors = [getattr(node, name) for name in dir(node) if name.startswith("_saved_")]
        for tensor in tensors:
            if isinstance(tensor, torch.Tensor):
                name = next(n for n, v in named.items() if v.item() == tensor.item())
                words.append(f"{name} = {number(tensor.item())}")
    return words


def kept() -> list[str]:
    """Return what `jax.vjp` keeps for each operation: its residuals, named by their value."""
    h = float(jnp.tanh(jnp.float32(W * X)))
    named = (
        {"x": X, "w": W},
        {"1−h": 1 - h, "h": h, "1−h²": 1 - h**2},
        {"2h": 2 * h},
    )

    def fun(w: Any) -> Any:
        return jnp.tanh(w * jnp.float32(X)) ** 2

    leaves = [float(r) for r in jax.tree.leaves(jax.vjp(fun, jnp.float32(W))[1])]
    words = []
    for names in named:
        of = {n: v for n, v in names.items() if any(abs(v - leaf) < 1e-6 for leaf in leaves)}
        words.append("\n".join(f"{name} = {number(value)}" for name, value in of.items()))
    return words


if __name__ == "__main__":
    for name, drawn in figures().items():
        (FOLDER / name).write_text(drawn, encoding="utf-8")
