"""Small torch models of one function, and JAX ports of them in which a mistake was made."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from jaxgrad.parity import Report, prove
from tests.jaxgrad.parity.prove._helpers import arrays, draw


Function = Callable[..., Any]
Shape = tuple[int, ...]


class Model(nn.Module):
    """A function between two layers; its last arguments are parameters of these shapes."""

    def __init__(self, function: Function, shapes: tuple[Shape, ...]):
        super().__init__()
        torch.manual_seed(0)
        self.inner, self.head = (nn.Parameter(torch.randn(n, k)) for n, k in ((6, 6), (100, 2)))
        self.weights = nn.ParameterList([torch.randn(shape) for shape in shapes])
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        y = self.function(x @ self.inner, *self.weights)
        return y if y.ndim == 0 else y.reshape(1, -1) @ self.head[: y.numel()]


class Row(NamedTuple):
    """A torch function, the same function in JAX with a mistake, and what a report says of it."""

    name: str
    torch: Function
    jax: Function
    cause: str  # as a report prints it, without the sentence on how it was tested
    op: str  # the torch call
    place: str  # the JAX primitive
    shapes: tuple[Shape, ...] = ()  # of the parameters


def proved(
    torch_function: Function, jax_function: Function, *shapes: Shape, **options: Any
) -> Report:
    """Prove a port of a model of one function."""
    module = Model(torch_function, shapes)

    def port(p: Any, x: Any) -> Any:
        weights = [p[f"weights.{n}"] for n in range(len(shapes))]
        y = jax_function(x @ p["inner"], *weights)
        return y if y.ndim == 0 else y.reshape(1, -1) @ p["head"][: y.size]

    return prove(module, port, arrays(module), (draw(4, 6),), **options)
