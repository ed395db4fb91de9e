"""The tensors that a graph's nodes hold: freed by the first backward pass, or retained."""

import textwrap
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import torch

from parity_tests.figures.canvas import Point, box, labelled, number, svg, text
from parity_tests.figures.run import arrays, tensors


CASE = "retain_graph/second_backward"


class Node(NamedTuple):
    """A node of torch's graph at the three moments of the figure.

    Attributes:
        name: torch's name of the node.
        saved: The tensor that it holds at each moment: its elements, None if it was freed, and an
            empty tuple if the node saves no tensor.
        ran: Whether the node finished in the second backward pass.
    """

    name: str
    saved: tuple[tuple[float, ...] | None, ...]
    ran: bool


class Pass(NamedTuple):
    """Two backward passes: the nodes in their order, `b.grad` after each, and the error."""

    nodes: tuple[Node, ...]
    grads: tuple[tuple[float, ...], ...]
    error: str


class Record(NamedTuple):
    """The tensors torch keeps with and without `retain_graph=True`, and two gradients from JAX."""

    freed: Pass
    retained: Pass
    jax: tuple[tuple[float, ...], tuple[float, ...]]


def record() -> Record:
    """Call backward twice, and look at the graph before, between and after."""
    fun_inputs = arrays(CASE)
    a = fun_inputs["a"].at[0].set(0)  # torch truncates 0.1 to the integer 0
    _, vjp = jax.vjp(lambda b: jnp.sum(a * b + b), fun_inputs["b"])
    first, second = (tuple(map(float, vjp(1.0)[0])) for _ in range(2))
    return Record(_two_passes(retain=False), _two_passes(retain=True), (first, second))


def _two_passes(*, retain: bool) -> Pass:
    given = tensors(CASE)
    a, b = given["a"], given["b"].requires_grad_()
    a[0] = 0.1
    c = a * b + b
    d = c.sum()
    nodes = _chain(d.grad_fn)
    saved = [[_saved(node) for node in nodes]]
    d.backward(retain_graph=retain)
    saved.append([_saved(node) for node in nodes])
    grads = [tuple(b.grad.tolist())]
    finished: list[Any] = []
    for node in nodes:
        node.register_hook(lambda *_, node=node: finished.append(node))
    error = ""
    try:
        d.backward(retain_graph=retain)
    except RuntimeError as raised:
        error = str(raised)
    saved.append([_saved(node) for node in nodes])
    grads.append(tuple(b.grad.tolist()))
    return Pass(
        tuple(
            Node(
                node.name().rpartition("::")[2],
                tuple(moment[i] for moment in saved),
                node in finished,
            )
            for i, node in enumerate(nodes)
        ),
        tuple(grads),
        error,
    )


def _chain(node: Any) -> list[Any]:
    """Return the nodes of a graph, the leaf's node last."""
    nodes = [node]
    for one in nodes:
        nodes += [n for n, _ in one.next_functions if n is not None and n not in nodes]
    return sorted(nodes, key=lambda n: "AccumulateGrad" in n.name())


def _saved(node: Any) -> tuple[float, ...] | None:
    """Return the elements of the tensors that a node holds, or None if they were freed."""
    found: tuple[float, ...] = ()
    for name in dir(node):
        if name.startswith("_saved_"):
            try:
                value = getattr(node, name)
            except RuntimeError:
                return None
            if isinstance(value, torch.Tensor):
                found += tuple(map(float, value.tolist()))
    return found


def draw(record: Record) -> str:
    """Draw a table of nodes and moments for each of torch's programs, and JAX's two calls."""
    parts = []
    top = 24
    for title, run in (
        ("torch: d.backward(), twice", record.freed),
        ("torch: d.backward(retain_graph=True), twice", record.retained),
    ):
        parts.append(text(14, top, title, "bold torch"))
        for column, name in enumerate(("after forward", "after the 1st", "in the 2nd")):
            parts.append(text(190 + 98 * column, top + 24, name, "middle faint"))
        for row, node in enumerate(run.nodes):
            parts += _row(node, top + 46 + 30 * row)
        y = top + 46 + 30 * len(run.nodes)
        parts.append(text(14, y + 4, "b.grad", "mono"))
        for column, words in enumerate(("None", *map(_vector, run.grads))):
            parts.append(text(190 + 98 * column, y + 4, words, "middle"))
        top = y + 26
        if run.error:
            parts.append(box(14, top - 6, 412, 44, "error"))
            words = f"RuntimeError: {run.error.partition(' (')[0]}"
            for row, part in enumerate(textwrap.wrap(words, 56)):
                parts.append(text(24, top + 11 + 18 * row, part, "error"))
            top += 50
        top += 20
    parts.append(text(14, top, "JAX: vjp(1.0), twice", "bold jax"))
    parts.append(text(14, top + 28, "gradient of b", ""))
    for column, grad in enumerate(record.jax):
        place = Point(288 + 98 * column, top + 24)
        parts.append(labelled(place, 88, _vector(grad), "jax"))
    return svg(
        "torch's first backward pass frees the saved tensor that a second one needs",
        parts,
        top + 50,
    )


def _row(node: Node, y: float) -> list[str]:
    parts = [text(14, y + 4, node.name, "mono")]
    for column, saved in enumerate(node.saved):
        place = Point(190 + 98 * column, y)
        if column == 2 and not node.ran:
            words = "raises" if saved is None else "not reached"
            parts.append(labelled(place, 88, words, "error" if saved is None else "faint dotted"))
        elif saved is None:
            parts.append(labelled(place, 88, "freed", "faint dashed"))
        elif saved:
            parts.append(labelled(place, 88, _vector(saved), "kept"))
        else:
            words = ("saves nothing", "–", "runs")[column]
            parts.append(text(place.x, y + 4, words, "middle faint"))
    return parts


def _vector(values: tuple[float, ...]) -> str:
    return f"({', '.join(map(number, values))})"
