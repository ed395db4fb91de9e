"""A hook that runs once on the summed gradient, and a hook that runs for each use."""

from typing import NamedTuple

import jax.numpy as jnp
import torch

import jaxgrad
from parity_tests.figures.canvas import Point, arrow, both, labelled, number, svg, text
from parity_tests.figures.run import arrays, tensors


CASE = "hooks/tensor_hook"


class Hooked(NamedTuple):
    """What a framework's hook receives, call by call, and the gradient of x."""

    seen: tuple[float, ...]
    returned: tuple[float, ...]
    grad: float


class Record(NamedTuple):
    """The gradients of the two uses, then each framework with one hook and with a hook per use."""

    uses: tuple[float, float]
    torch: tuple[Hooked, Hooked]
    jax: tuple[Hooked, Hooked]


def record() -> Record:
    """Run h = 2x, loss = 3h + 5h with a hook that clamps to 1."""
    one, two = (torch.zeros((), requires_grad=True) for _ in range(2))
    x = tensors(CASE)["x"]
    (3 * (2 * x + one) + 5 * (2 * x + two)).backward()
    assert one.grad is not None and two.grad is not None
    return Record(
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
        parts += _pass(top, record.uses, record.torch[per_use], record.jax[per_use])
    return svg(
        "A hook on a tensor sees the sum over its uses; hooks on the uses do not", parts, 372
    )


def _pass(top: float, uses: tuple[float, float], torch: Hooked, jax: Hooked) -> list[str]:
    """Draw the gradients of both uses, their sum, and the hooks where they run."""
    calls = [
        f"hook: {both(*seen)} → {both(*returned)}"
        for seen, returned in zip(
            zip(torch.seen, jax.seen, strict=True),
            zip(torch.returned, jax.returned, strict=True),
            strict=True,
        )
    ]
    y = top + 100
    per_use = len(calls) > 1
    parts = []
    for i, at in enumerate((y - 42, y + 42)):
        words, look = (calls[i], "violet") if per_use else (number(uses[i]), "torch")
        parts.append(
            arrow(Point(368, y + (at - y) * 0.3), Point(354, at + (y - at) * 0.15), "torch")
        )
        parts.append(
            arrow(Point(246, at + (y - at) * 0.15), Point(230, y + (at - y) * 0.35), "torch")
        )
        parts.append(labelled(Point(300, at), 106, words, look))
    total = both(sum(torch.returned), sum(jax.returned))
    parts.append(arrow(Point(176, y), Point(58, y), "torch"))
    sums = f"sum {total}" if per_use else calls[0]
    parts.append(
        labelled(Point(117, y), 78 if per_use else 90, sums, "torch" if per_use else "violet")
    )
    parts.append(labelled(Point(396, y), 56, "loss", "plain"))
    parts.append(labelled(Point(204, y), 56, "h = 2x", "plain"))
    parts.append(labelled(Point(35, y), 42, "x", "plain"))
    parts.append(text(14, y + 36, f"x.grad {both(torch.grad, jax.grad)}", "bold"))
    return parts
