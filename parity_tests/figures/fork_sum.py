"""Values with two uses: a gradient is the sum over the uses, and `retain_grad` keeps it."""

from typing import Any, NamedTuple

import jax
import torch

import jaxgrad
from parity_tests.figures.canvas import Point, arrow, both, labelled, svg, text
from parity_tests.figures.run import arrays, tensors


CASE = "backward/retain_grad"
Use = tuple[str, str]
USES: tuple[Use, ...] = (("h", "i"), ("h", "j"), ("i", "j"), ("i", "k"), ("j", "k"))
PLACES = {"h": Point(54, 190), "i": Point(166, 70), "j": Point(276, 190), "k": Point(386, 70)}
RULES = {"i": "i = g / h", "j": "j = i + h", "k": "k = j · i"}
BOX = Point(76, 26)  # the size of a box


class Side(NamedTuple):
    """One framework's gradient of each use, and the gradients that it keeps of h, i and j."""

    uses: dict[Use, float]
    kept: dict[str, float | None]


class Record(NamedTuple):
    torch: Side
    jax: Side


def _program(g: Any, h: Any, added: dict[Use, Any]) -> tuple[Any, Any, Any]:
    """Return i, j and k, with a number added to each use of a value."""
    i = g / (h + added["h", "i"])
    j = (i + added["i", "j"]) + (h + added["h", "j"])
    return i, j, (j + added["j", "k"]) * (i + added["i", "k"])


def record() -> Record:
    """Differentiate with respect to a zero added to each use, and keep the gradient of i."""
    return Record(_in_torch(), _in_jax())


def _in_torch() -> Side:
    given = tensors(CASE)
    g, h = given["f"] * (given["d"] * given["c"]), given["h"].requires_grad_()
    added = {use: torch.zeros_like(h, requires_grad=True) for use in USES}
    i, j, k = _program(g, h, added)
    i.retain_grad()
    k.backward()
    values = {"h": h, "i": i, "j": j}
    kept = {name: v.grad for name, v in values.items() if v.is_leaf or v.retains_grad}
    return Side(
        {use: _float(zero.grad) for use, zero in added.items()},
        {name: _float(kept[name]) if name in kept else None for name in "hij"},
    )


def _in_jax() -> Side:
    given = arrays(CASE)
    g, h = given["f"] * (given["d"] * given["c"]), given["h"]
    zeros = dict.fromkeys(USES, 0.0)
    uses = jax.grad(lambda added: _program(g, h, added)[2])(zeros)

    def program(h):
        i = jaxgrad.retain_grad(g / h, "i")
        return (i + h) * i

    _, grad, kept = jaxgrad.value_and_retained_grads(program)(h)
    grads = {"h": _float(grad), "i": _float(kept["i"]), "j": None}
    return Side({use: _float(uses[use]) for use in USES}, grads)


def _float(value: Any) -> float:
    return float(value)


def draw(record: Record) -> str:
    """Draw the gradient of each use on its arrow, and below each value the sum that is kept."""
    torch_side, jax_side = record
    parts = [text(14, 24, "← backward: one gradient for each use", "torch bold")]
    for use in USES:
        value, result = PLACES[use[0]], PLACES[use[1]]
        parts.append(arrow(_edge(result, value), _edge(value, result), "torch"))
        middle = Point((value.x + result.x) / 2, (value.y + result.y) / 2)
        grad = both(torch_side.uses[use], jax_side.uses[use])
        parts.append(labelled(middle, 46, grad, "torch", height=22))
    for name, place in PLACES.items():
        parts.append(labelled(place, BOX.x, RULES.get(name, name), "plain", height=BOX.y))
    parts += _sums(torch_side, jax_side)
    return svg("The gradient of a value with two uses is the sum over its uses", parts, 330)


def _edge(start: Point, end: Point) -> Point:
    """Return where the straight line from a box to another one leaves the box."""
    dx, dy = end.x - start.x, end.y - start.y
    gap = Point(BOX.x / 2 + 2, BOX.y / 2 + 2)
    share = min(gap.x / abs(dx) if dx else 1, gap.y / abs(dy) if dy else 1)
    return Point(start.x + dx * share, start.y + dy * share)


def _sums(torch_side: Side, jax_side: Side) -> list[str]:
    """Write each value's gradient as the sum over its uses, in a box if it is kept."""
    why = {"h": "h is a leaf", "i": "retain_grad keeps it"}
    parts = []
    for row, name in enumerate("hij"):
        y = 244 + 32 * row
        terms = [both(torch_side.uses[use], jax_side.uses[use]) for use in USES if use[0] == name]
        kept = both(torch_side.kept[name], jax_side.kept[name])
        dropped = kept == "None"
        total = " + ".join(terms)
        parts += [
            text(14, y + 4, f"{name}.grad", "mono"),
            labelled(Point(120, y), 84, kept, "faint dashed" if dropped else "kept"),
            text(172, y + 4, f"{total} is used, then dropped" if dropped else f"= {total}"),
            text(426, y + 4, why.get(name, ""), "end faint"),
        ]
    return parts
