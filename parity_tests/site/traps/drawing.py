"""Draw a card: torch's backward graph beside those of the wrong and of the right port.

The graphs are recorded from the programs that the card shows. A gradient that flows in only one of
the two ports is red and labelled in the wrong port's graph.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from jaxgrad.graph import Graph, Setting, backward_graph, side_by_side
from jaxgrad.parity.torch_graph import record
from parity_tests.site.traps.card import Card
from parity_tests.site.traps.proof import files, numpy_params


WRONG, RIGHT = "the wrong port", "the right port"


def picture(card: Card) -> str:
    """Return the picture of a card as SVG; the gradients are those of the sum of the output."""
    name = card.name.replace("`", "")
    return side_by_side(rows(card), title=f"{name}: torch, a wrong port and the right one")


def rows(card: Card) -> dict[str, Setting]:
    """Return the rows of the picture: torch and the wrong port, then torch and the right port."""
    with files(card) as of:
        module, params = of.model.Model(), numpy_params(of.model.Model())
        recorded = _torch(module, of.model.inputs)
        wrong, right = (_Port(port.port, params, of.model.inputs) for port in (of.wrong, of.right))
        turned = ", ".join(f"∇{name}" for name in params if wrong.turned(right, name))
        note = f"{turned}: the same norm, another direction" if turned else ""
        return {
            WRONG: Setting(recorded, wrong.graph(), ("", ""), note, "✗ differs from torch", RIGHT),
            RIGHT: Setting(recorded, right.graph(), verdict="✓ the same gradients"),
        }


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


def _torch(module: torch.nn.Module, inputs: tuple[Any, ...]) -> Graph:
    arrays = [torch.tensor(np.asarray(x)) for x in inputs]

    def program() -> None:
        _sum(module(*arrays)).backward()

    (graph,) = record(program)
    return graph
