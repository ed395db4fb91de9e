"""The version counter of a saved tensor, and the backward pass that fails because of it."""

import re
from typing import NamedTuple

import jax

from parity_tests.figures.canvas import Point, box, labelled, line, number, svg, text
from parity_tests.figures.run import arrays, tensors


CASE = "mutation/inplace_saved"
LINES = ("c = a * b", "e = c * d", "c += 1", "e.backward()")


class Moment(NamedTuple):
    """The tensor c after a line: its value, and how often it was changed in place."""

    value: float
    version: int


class Record(NamedTuple):
    """The history of `c` in both frameworks.

    Attributes:
        moments: c after each of torch's lines, the last of which raises.
        error: The error's sentence about versions.
        found: The version that torch's backward pass finds.
        expected: The version that it saved.
        array: The value of c in JAX before and after `c = c + 1`.
        grads: JAX's gradients of a, b and d.
    """

    moments: tuple[Moment, ...]
    error: str
    found: int
    expected: int
    array: tuple[float, float]
    grads: tuple[float, float, float]


def record() -> Record:
    """Run the case's lines one by one, in torch and in JAX."""
    a, b, d = (value.requires_grad_() for value in tensors(CASE).values())
    c = a * b
    moments = [Moment(c.item(), c._version)]
    e = c * d
    moments.append(Moment(c.item(), c._version))
    c += 1
    moments.append(Moment(c.item(), c._version))
    try:
        e.backward()
        error = ""
    except RuntimeError as raised:
        error = str(raised)
    match = re.search(r"is at version (\d+); expected version (\d+) instead", error)
    assert match, f"torch's backward pass did not complain about a version: {error!r}"
    moments.append(Moment(c.item(), c._version))

    def program(a, b, d):
        c = a * b
        e = c * d
        return e, (c, c + 1)

    grads, array = jax.grad(program, argnums=(0, 1, 2), has_aux=True)(*arrays(CASE).values())
    return Record(
        tuple(moments),
        match[0],
        int(match[1]),
        int(match[2]),
        (float(array[0]), float(array[1])),
        (float(grads[0]), float(grads[1]), float(grads[2])),
    )


def draw(record: Record) -> str:
    """Draw one row for each line, with the memory of c and the node that saved it."""
    parts = [
        text(14, 24, "torch: c is changed in place", "bold torch"),
        text(190, 50, "memory of c", "middle faint"),
        text(345, 50, "the node of e = c * d", "middle faint"),
    ]
    for row, (code, moment) in enumerate(zip(LINES, record.moments, strict=True)):
        y = 76 + 38 * row
        changed = moment.version != record.expected
        parts.append(text(14, y + 4, code, "mono"))
        label = f"{number(moment.value)} · version {moment.version}"
        parts.append(labelled(Point(190, y), 112, label, "error" if changed else "torch"))
        if row > 0:
            parts.append(line([Point(247, y), Point(272, y)], "plain dashed"))
            saved = f"saved c, version {record.expected}"
            parts.append(labelled(Point(345, y), 146, saved, "plain"))
    below = 76 + 38 * len(LINES)
    parts.append(box(14, below - 12, 412, 46, "error"))
    parts.append(text(24, below + 6, "RuntimeError: the saved tensor", "error bold"))
    parts.append(text(24, below + 24, record.error, "error"))
    start = below + 68
    kept, new = record.array
    parts.append(text(14, start, "JAX: c + 1 is a new array", "bold jax"))
    rows = (
        ("c = a * b", number(kept), ""),
        ("e = c * d", number(kept), f"the VJP keeps c = {number(record.grads[2])}"),
        ("c = c + 1", number(new), f"the VJP keeps c = {number(record.grads[2])}"),
        ("vjp(1.0)", number(new), "∇a, ∇b, ∇d = " + ", ".join(map(number, record.grads))),
    )
    for row, (code, value, note) in enumerate(rows):
        y = start + 26 + 38 * row
        parts.append(text(14, y + 4, code, "mono"))
        parts.append(labelled(Point(190, y), 112, value, "jax"))
        if note:
            parts.append(labelled(Point(345, y), 160, note, "kept"))
    return svg(
        "In torch the change of c after its use makes backward raise; in JAX nothing can change it",
        parts,
        start + 26 + 38 * len(rows) - 10,
    )
