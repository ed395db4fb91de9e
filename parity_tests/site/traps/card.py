"""A card of the gallery of traps: a torch module, a wrong port and a right port, as three files.

A file sees the names of `IMPORTS`. What a card does not define is taken from `SIMPLE`, so that a
card on training shows only its optimizers.
"""

import ast
import dataclasses
import textwrap
from collections.abc import Mapping
from typing import Any

import numpy as np

from parity_tests.site.cheat_sheet.page import ROWS
from parity_tests.site.cheat_sheet.row import Row, torch_run


IMPORTS = """\
import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from jax import lax
from torch import nn
from torch.nn import functional as F

import jaxgrad
from jaxgrad import functional, optim
"""
SIMPLE = """\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([1.0, -2.0, 3.0]))

    def forward(self, x):
        return ((x @ self.w) ** 2).mean()


def port(params, x):
    return ((x @ params["w"]) ** 2).mean()


inputs = (np.float32([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]]),)
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Card:
    """A porting mistake that raises nothing.

    Attributes:
        name: What a torch user looks for.
        torch: The file model.py: it defines `Model` and `inputs`, or `optimizer`, a factory.
        wrong: The file port.py: it defines `port`, or `tx`, an optax transformation.
        right: The same file without the mistake.
        trap: A sentence on the mistake.
        behaviours: Ids of the cases that prove the behaviour.
        row: The row of the cheat sheet from which the programs are made.
        options: Further arguments of `prove`.
    """

    name: str
    torch: str
    wrong: str
    right: str
    trap: str
    behaviours: tuple[str, ...] = ()
    row: Row | None = None
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def from_row(name: str, *behaviours: str, loss: bool = True, training: str = "") -> Card:
    """Make a card from a row of the cheat sheet whose last line is a loss, or is summed to one.

    Args:
        name: The name of the row.
        behaviours: Ids of the cases that prove the behaviour.
        loss: Whether to sum an array to a loss.
        training: A sentence on the consequence in training.
    """
    (row,) = (row for row in ROWS if row.name == name)
    summed = ".sum()" if loss and torch_run(row)[0].ndim else ""
    others = [name for name in row.given if name != "x"]
    arguments = "".join(f", {name}" for name in others)
    arrays = ", ".join(_array(row.given[name]) for name in others) + "," * (len(others) == 1)
    module = (
        f"{_before(row.torch_before, row.torch)}class Model(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n"
        f"        self.x = nn.Parameter(torch.tensor({_list(row.given['x'])}))\n\n"
        f"    def forward(self{arguments}):\n{_body('x = self.x', row.torch, summed, 8)}\n\n\n"
        f"inputs = ({arrays})"
    )
    wrong, right = (
        f"{_before(row.jax_before, code)}def port(params{arguments}):\n"
        + _body('x = params["x"]', code, summed, 4)
        for code in (row.wrong, row.programs[-1])
    )
    return Card(
        name=name,
        torch=module,
        wrong=wrong,
        right=right,
        trap=f"{row.trap} {training}".strip(),
        behaviours=behaviours,
        row=row,
    )


def _before(code: str, program: str) -> str:
    """Return the hidden setup code of a row if the program uses one of the names it defines."""
    defined = {getattr(node, "name", "") for node in ast.parse(code).body}
    used = {node.id for node in ast.walk(ast.parse(program)) if isinstance(node, ast.Name)}
    return f"{code.strip()}\n\n\n" if defined & used else ""


def _body(first: str, code: str, summed: str, margin: int) -> str:
    """Return code as the body of a function that returns its last line, summed if it must be."""
    last = ast.parse(code).body[-1]
    assert isinstance(last, ast.Expr)
    text = ast.get_source_segment(code, last) or ""
    *before, comment = code.rpartition(text)
    if summed:
        atom = isinstance(last.value, ast.Name | ast.Call | ast.Attribute | ast.Subscript)
        text = f"{text if atom else f'({text})'}{summed}"
    return textwrap.indent(f"{first}\n{before[0]}return {text}{comment}", " " * margin)


def _list(x: Any) -> str:
    return repr(np.asarray(x, float).round(6).tolist())


def _array(x: Any) -> str:
    x = np.asarray(x)
    return f"np.float32({_list(x)})" if x.dtype.kind == "f" else f"np.array({x.tolist()})"
