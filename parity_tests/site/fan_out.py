"""Draw a value with two uses, `h**2 + h`: torch's walk and JAX's VJP add the gradients of the uses.

The figure continues the chain of `chain_figure`: h has the value that it has there. It is written
by `python -m parity_tests.site.fan_out`.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import torch

from parity_tests.figures.canvas import Point, arrow, circle, labelled, line, number, svg, text
from parity_tests.site.chain_figure import FOLDER, NARROW, WIDE, numbers


class Record(NamedTuple):
    """The run: values, the gradient of each use of h, and the names in both programs."""

    h: float
    loss: float
    uses: tuple[float, float]  # of h**2, and of h
    torch_grad: float
    jax_grad: float
    nodes: tuple[str, ...]  # torch's, from the loss
    primitives: tuple[str, ...]  # of JAX's VJP


def record() -> Record:
    """Differentiate h**2 + h in both frameworks, and each use of h alone."""
    start = numbers()[0][2]
    h = torch.tensor(start, requires_grad=True)
    first, second = (torch.zeros((), requires_grad=True) for _ in range(2))
    loss = (h + first) ** 2 + (h + second)
    loss.backward()
    assert h.grad is not None and first.grad is not None and second.grad is not None
    plain = (h**2 + h).grad_fn
    assert plain is not None
    nodes = [plain, *(node for node, _ in plain.next_functions if node is not None)]
    names = [node.name() for node in nodes if "Accumulate" not in node.name()]

    def fun(h: jax.Array) -> jax.Array:
        return h**2 + h

    value, pull = jax.vjp(fun, jnp.float32(start))
    program = jax.make_jaxpr(pull)(jnp.float32(1))
    primitives = tuple(eqn.primitive.name for eqn in program.eqns)
    return Record(
        start,
        float(value),
        (first.grad.item(), second.grad.item()),
        h.grad.item(),
        float(pull(jnp.float32(1))[0]),
        tuple(names),
        primitives,
    )


def figures() -> dict[str, str]:
    """Return the wide and the narrow figure by their file names."""
    run = record()
    return {"fan_out.svg": _draw(run, WIDE), "fan_out-narrow.svg": _draw(run, NARROW)}


TITLE = "A value with two uses: forward it is used twice, backward the two gradients are added"


def _draw(run: Record, width: float) -> str:
    parts = [
        *_forward(run, 0, width),
        *_tape(run, 150, width),
        *_vjp(run, 300, width),
    ]
    return svg(TITLE, parts, 446, width) + "\n"


class _Places(NamedTuple):
    """The x of the value h, the fork, the operation, the join, and the loss; half a box's width."""

    h: float
    fork: float
    op: float
    join: float
    loss: float
    half: float


def _places(width: float) -> _Places:
    if width == NARROW:
        return _Places(37, 100, 174, 257, 342, 53)
    return _Places(60, 180, 395, 610, 790, 60)


def _forward(run: Record, top: float, width: float) -> list[str]:
    p, y = _places(width), top + 90
    high, low = y - 40, y + 34
    return [
        text(4, top + 18, "forward: h is used twice →", "faint"),
        text(p.h, y + 4.5, _pair("h", run.h), "middle"),
        line([Point(p.h + _half(width), y), Point(p.fork, y)], "plain"),
        *_bent(Point(p.fork, y), Point(p.op - 42, high), "plain"),
        labelled(Point(p.op, high), 80, "square", "plain", height=28),
        *_bent(Point(p.join, y - 13), Point(p.op + 40, high), "plain", back=True),
        *_around(Point(p.fork, y), Point(p.join, y + 13), low, "plain"),
        circle(Point(p.join, y), 11, "plain"),
        text(p.join, y + 5, "+", "middle big"),
        arrow(Point(p.join + 11, y), Point(p.loss - _half(width) + 2, y), "plain"),
        text(p.loss, y + 4.5, _pair("ℓ", run.loss), "middle"),
    ]


def _tape(run: Record, top: float, width: float) -> list[str]:
    """Draw torch's walk: AddBackward0, PowBackward0, and the sum at h."""
    add, power = run.nodes
    words = "← torch's walk: the gradients of all uses are added"
    return [
        text(4, top + 18, words, "faint"),
        *_backward(run, top, width, (add, power), "torch", run.torch_grad, "+"),
    ]


def _vjp(run: Record, top: float, width: float) -> list[str]:
    """Draw JAX's VJP: the transpose of the second use is an addition."""
    product, total = run.primitives
    words = "← JAX's VJP: the second use has become an addition"
    return [
        text(4, top + 18, words, "faint"),
        *_backward(run, top, width, ("", product), "jax", run.jax_grad, total),
    ]


def _backward(
    run: Record,
    top: float,
    width: float,
    names: tuple[str, str],
    look: str,
    grad: float,
    total: str,
) -> list[str]:
    """Draw the two gradients of h and their sum, from right to left."""
    p, y = _places(width), top + 90
    high, low = y - 40, y + 34
    join, power = names
    half = 11 if total == "+" else 32
    parts = _named("∂ℓ/∂ℓ", 1.0, Point(p.loss, y))
    end = p.loss - (18 if width == NARROW else 24)
    if join:
        size = 2 * p.half
        parts.append(labelled(Point(p.join, y), size, join, look, height=28))
        parts.append(arrow(Point(end, y), Point(p.join + size / 2 + 2, y), look))
        start, edge = Point(p.join, y - 14), Point(p.join, y + 14)
    else:
        parts.append(line([Point(end, y), Point(p.join, y)], look))
        start = edge = Point(p.join, y)
    parts += _bent(start, Point(p.op + p.half + 2, high), look)
    parts += _step(Point(p.op, high), 2 * p.half, power, f"× {number(run.uses[0])} (2h)", look)
    parts += _bent(Point(p.fork, y - 13), Point(p.op - p.half, high), look, back=True)
    parts += _around(edge, Point(p.fork, y + 13), low, look)
    first, second = map(number, run.uses)
    if width == NARROW:
        parts.append(text(p.fork - 8, high + 12, first, "end"))
    else:
        parts.append(text((p.fork + p.op - p.half) / 2, high - 7, first, "middle"))
    parts.append(text((p.fork + p.join) / 2, low - 7, second, "middle"))
    shape = circle(Point(p.fork, y), 11, look) if half == 11 else ""
    parts.append(shape or labelled(Point(p.fork, y), 2 * half, "", look, height=26))
    parts.append(text(p.fork, y + 5, total, "middle" + (" big" if half == 11 else "")))
    left = p.h - 10 if width == NARROW else p.h
    parts.append(arrow(Point(p.fork - half, y), Point(left + 22, y), look))
    parts += _named("∂ℓ/∂h", grad, Point(left, y))
    return parts


def _step(at: Point, width: float, name: str, factor: str, look: str) -> list[str]:
    """Draw a box with a name and the factor by which it multiplies a gradient."""
    return [
        labelled(at, width, "", look, height=40),
        text(at.x, at.y - 3.5, name, "middle"),
        text(at.x, at.y + 12.5, factor, "middle"),
    ]


def _named(name: str, value: float, at: Point) -> list[str]:
    return [
        text(at.x, at.y - 4, name, "middle"),
        text(at.x, at.y + 13, number(value), "middle"),
    ]


def _pair(name: str, value: float) -> str:
    return f"{name} = {number(value)}"


def _half(width: float) -> float:
    return 39 if width == NARROW else 46


def _bent(start: Point, end: Point, look: str, *, back: bool = False) -> list[str]:
    """Draw an arrow that runs up from a point and then across; `back` reverses it."""
    corner = Point(start.x, end.y)
    if back:
        return [line([end, corner], look), arrow(corner, start, look)]
    return [line([start, corner], look), arrow(corner, end, look)]


def _around(start: Point, end: Point, y: float, look: str) -> list[str]:
    """Draw an arrow that runs down from a point, across, and up to another point."""
    corner = Point(end.x, y)
    return [line([start, Point(start.x, y), corner], look), arrow(corner, end, look)]


if __name__ == "__main__":
    for name, drawn in figures().items():
        (FOLDER / name).write_text(drawn, encoding="utf-8")
