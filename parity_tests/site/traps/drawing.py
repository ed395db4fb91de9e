"""Draw a card: torch's backward graph beside those of the wrong and of the right port.

The graphs are recorded from the programs that the card shows. A gradient that flows in only one of
the two ports is red and labelled in the wrong port's graph.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from jaxgrad.graph import Graph, Setting, backward_graph, side_by_side
from jaxgrad.parity.torch_graph import record
from parity_tests.pictures.draw_case import PAGE
from parity_tests.site.traps.card import Card
from parity_tests.site.traps.proof import files, numpy_params


TORCH, WRONG, RIGHT = "torch", "the wrong port", "the right port"
NARROW = 370  # pixels; a phone shrinks it to 358


def picture(card: Card, width: float = PAGE) -> str:
    """Return the picture of a card as SVG; the gradients are those of the sum of the output."""
    name = card.name.replace("`", "")
    return side_by_side(
        rows(card), title=f"{name}: torch, a wrong port and the right one", width=width
    )


def rows(card: Card) -> dict[str, Setting]:
    """Return the programs of the picture: torch, the wrong port and the right one."""
    with files(card) as of:
        return compared(of.model.Model(), of.wrong.port, of.right.port, of.model.inputs)


def compared(
    module: torch.nn.Module,
    wrong_port: Callable[..., Any],
    right_port: Callable[..., Any],
    inputs: tuple[Any, ...],
) -> dict[str, Setting]:
    """Return the rows of a picture of a module and two ports, functions of params and inputs."""
    params = numpy_params(module)
    torch_graph, torch_grads = _torch(module, inputs)
    wrong, right = (_Port(port, params, inputs) for port in (wrong_port, right_port))
    turned = [name for name in params if wrong.turned(right, name)]
    note = f"{', '.join(f'∇{name}' for name in turned)}: the same norm, another direction"
    elements = [
        _elements(graph, grads, turned)
        for graph, grads in (
            (torch_graph, torch_grads),
            (wrong.graph(), wrong.grads),
            (right.graph(), right.grads),
        )
    ]
    return {
        TORCH: Setting(torch=elements[0]),
        WRONG: Setting(
            jax=elements[1],
            note=note if turned else "",
            verdict="✗ differs from torch",
            expected=RIGHT,
        ),
        RIGHT: Setting(jax=elements[2], verdict="✓ the same gradients"),
    }


def _elements(graph: Graph, grads: Mapping[str, Any], names: Sequence[str]) -> Graph:
    """Return the graph with the first element, not the norm, of the gradients in `names`."""
    shown = {name: _element(np.asarray(grads[name])) for name in names}
    leaves = tuple(leaf._replace(element=shown.get(leaf.name, "")) for leaf in graph.leaves)
    return graph._replace(leaves=leaves)


def _element(grad: np.ndarray) -> str:
    place = ", ".join(["0"] * grad.ndim)
    return f"[{place}] {grad.ravel()[0]:.3g}".replace("-", "−")


class _Port:
    """A port as a loss: its output, or the sum of it."""

    def __init__(self, port: Any, params: dict[str, np.ndarray], inputs: tuple[Any, ...]):
        self.params = {name: jnp.asarray(value) for name, value in params.items()}
        self.loss = lambda params: _sum(port(params, *map(jnp.asarray, inputs)))
        self.grads = jax.grad(self.loss)(self.params)

    def graph(self) -> Graph:
        return backward_graph(self.loss, self.params)

    def turned(self, other: "_Port", name: str) -> bool:
        """Return whether the ports have gradients of equal norm that differ."""
        a, b = (np.ravel(each.grads[name]) for each in (self, other))
        sizes = np.linalg.norm(a), np.linalg.norm(b)
        return bool(np.isclose(*sizes)) and not np.allclose(a, b)


def _sum(output: Any) -> Any:
    """Return the sum of an output, or a loss as it is, so that its graph has no further node."""
    return output.sum() if output.ndim else output


def _torch(module: torch.nn.Module, inputs: tuple[Any, ...]) -> tuple[Graph, dict[str, np.ndarray]]:
    """Return torch's graph of the sum of the output, and its gradients."""
    arrays = [torch.tensor(np.asarray(x)) for x in inputs]

    def program() -> None:
        _sum(module(*arrays)).backward()

    (graph,) = record(program)
    grads = {name: p.grad.numpy() for name, p in module.named_parameters() if p.grad is not None}
    return graph, grads
