"""A hook that runs once on the summed gradient, and a hook that runs for each use."""

from typing import NamedTuple

import jax.numpy as jnp
import torch

import jaxgrad
from parity_tests.figures.canvas import (
    Point,
    arrow,
    both,
    circle,
    labelled,
    line,
    number,
    svg,
    text,
)
from parity_tests.figures.run import arrays, tensors


CASE = "hooks/tensor_hook"


class Hooked(NamedTuple):
    """The gradients that a framework's hook receives, call by call, and the gradient of x."""

    seen: tuple[float, ...]
    returned: tuple[float, ...]
    grad: float


class Record(NamedTuple):
    """Each framework with one hook and with a hook per use, and the gradients without hooks."""

    slope: float  # of h = 2x
    uses: tuple[float, float]  # the gradients of both uses of h
    torch: tuple[Hooked, Hooked]
    jax: tuple[Hooked, Hooked]


def record() -> Record:
    """Run h = 2x, loss = 3h + 5h with a hook that clamps to 1."""
    one, two = (torch.zeros((), requires_grad=True) for _ in range(2))
    x = tensors(CASE)["x"]
    (3 * (2 * x + one) + 5 * (2 * x + two)).backward()
    assert one.grad is not None and two.grad is not None
    (slope,) = torch.autograd.grad(2 * x.requires_grad_(), x)
    return Record(
        slope.item(),
        (one.grad.item(), two.grad.item()),
        (_in_torch(per_use=False), _in_torch(per_use=True)),
        (_in_jax(per_use=False), _in_jax(per_use=True)),
    )


def _in_torch(*, per_use: bool) -> Hooked:
    x = tensors(CASE)["x"].requires_grad_()
    seen, returned = [], []

    def clamp(grad):
        seen.append(grad.item())
        returned.append(grad.clamp(max=1).item())
        return grad.clamp(max=1)

    h = 2 * x
    uses = [h.view_as(h), h.view_as(h)] if per_use else [h, h]
    for hooked in uses if per_use else [h]:
        hooked.register_hook(clamp)
    (3 * uses[0] + 5 * uses[1]).backward()
    return Hooked(tuple(sorted(seen)), tuple(sorted(returned)), x.grad.item())


def _in_jax(*, per_use: bool) -> Hooked:
    def clamp(grad):
        return jnp.minimum(grad, 1)

    def watched(h, name):
        # The hook's argument is kept after it, its result before it: backward runs in reverse.
        before = jaxgrad.retain_grad(h, f"{name} returned")
        return jaxgrad.retain_grad(jaxgrad.hook(before, clamp), f"{name} seen")

    def program(x):
        h = 2 * x
        uses = [watched(h, "1"), watched(h, "2")] if per_use else [watched(h, "1")] * 2
        return 3 * uses[0] + 5 * uses[1]

    _, grad, kept = jaxgrad.value_and_retained_grads(program)(arrays(CASE)["x"])
    seen, returned = (
        tuple(sorted(float(v) for k, v in kept.items() if k.endswith(what)))
        for what in ("seen", "returned")
    )
    return Hooked(seen, returned, float(grad))


def draw(record: Record) -> str:
    """Draw the backward pass from the loss to x, once with one hook and once with two."""
    parts: list[str] = []
    for top, title, per_use in ((0, "a hook on h", False), (186, "a hook on each use of h", True)):
        parts.append(text(14, top + 24, title, "bold"))
        parts.append(text(426, top + 24, "← backward from loss = 3h + 5h", "end faint"))
        parts += _pass(top + 96, record, record.torch[per_use], record.jax[per_use])
    return svg(
        "A hook on a tensor runs once, on the sum over its uses and before the gradient passes to "
        "x; a hook on each use runs before the sum",
        parts,
        372,
    )


def _pass(y: float, record: Record, torch: Hooked, jax: Hooked) -> list[str]:
    """Draw operations as boxes, and on each arrow the gradient that it carries towards x."""
    seen, returned = (
        [both(*pair) for pair in zip(left, right, strict=True)]
        for left, right in ((torch.seen, jax.seen), (torch.returned, jax.returned))
    )
    per_use = len(seen) > 1
    plus = Point(172 if per_use else 262, y)
    parts = [
        labelled(Point(30, y), 32, "x", "plain"),
        labelled(Point(108, y), 60, "h = 2x", "plain"),
        text(108, y + 32, f"× {number(record.slope)}", "middle faint"),
        text(14, y + 32, f"x.grad {both(torch.grad, jax.grad)}", "bold"),
        labelled(Point(409, y), 40, "loss", "plain"),
        *_flow(Point(78, y), Point(48, y), both(torch.grad, jax.grad)),
        circle(plus, 11, "plain"),
        text(plus.x, y + 5, "+", "middle big"),
    ]
    for i, (name, side) in enumerate((("3h", -1), ("5h", 1))):
        at = y + 42 * side
        parts.append(labelled(Point(345, at), 40, name, "plain"))
        parts += _flow(Point(397, y + 14 * side), Point(367, at - 6 * side), "")
        start = 325.0
        if per_use:
            parts.append(labelled(Point(255, at), 52, "hook", "violet"))
            parts += _flow(Point(start, at), Point(283, at), seen[i])
            start = 229.0
        shown = returned[i] if per_use else number(record.uses[i])
        corner = Point(plus.x + 20, at)
        parts.append(line([Point(start, at), corner], "torch"))
        parts.append(arrow(corner, Point(plus.x + 8, y + 9 * side), "torch"))
        parts.append(text((start + corner.x) / 2, at - 6, shown, "middle"))
    if per_use:
        total = both(sum(torch.returned), sum(jax.returned))
        parts += _flow(Point(plus.x - 11, y), Point(140, y), total)
        parts.append(text(255, y + 4, "clamp(max=1)", "middle mono faint"))
    else:
        parts.append(labelled(Point(196, y), 52, "hook", "violet"))
        parts.append(text(196, y + 32, "clamp(max=1)", "middle mono faint"))
        parts += _flow(Point(plus.x - 11, y), Point(224, y), seen[0])
        parts += _flow(Point(170, y), Point(140, y), returned[0])
    return parts


def _flow(start: Point, end: Point, grad: str) -> list[str]:
    """Draw an arrow and, above its middle, the gradient that it carries."""
    middle = Point((start.x + end.x) / 2, (start.y + end.y) / 2)
    return [arrow(start, end, "torch"), text(middle.x, middle.y - 7, grad, "middle")]
