"""Each refusal says what to write instead."""

import ast
import pathlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity import port as package
from jaxgrad.parity.port.port import LEAVE_A_HOLE, port
from jaxgrad.parity.port.source.refusals import PortError


FOLDER = pathlib.Path(package.__file__).parent
X = np.random.default_rng(0).standard_normal((4, 4)).astype(np.float32)
PARTS = ("training/schedule_bodies.py", "training/schedule_expressions.py")  # one remedy for all
# The quoted error or report has the remedy.
QUOTING = (": {error}", "\n{report}{KEPT}", "\n{report or reason}{KEPT}")


def refusals() -> Iterator[Any]:
    """Yield the place and the text of each refusal in the source of the porter."""
    for path in sorted(FOLDER.rglob("*.py")):
        file = path.relative_to(FOLDER).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not node.args or file in PARTS:
                continue
            name = ast.unparse(node.func).split(".")[-1]
            if name in ("refuse", "PortError", "OutOfReach", "_out_of_reach"):
                text = text_of(node.args[0])
                if text:
                    yield pytest.param(text, id=f"{file}:{node.lineno}")


def text_of(node: ast.expr) -> str:
    """Return the text of a literal, with its fields in braces; "" for any other expression."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return ""
    parts: list[Any] = node.values
    return "".join(
        str(x.value) if isinstance(x, ast.Constant) else f"{{{ast.unparse(x.value)}}}"
        for x in parts
    )


@pytest.mark.parametrize("text", list(refusals()))
def test_a_refusal_says_what_to_write_instead(text):
    """The remedy follows a semicolon, or the text says what an argument of `port` needs."""
    quotes = text.startswith("{error.reason}") or text.endswith(QUOTING)
    assert quotes or "; " in text or " needs " in text


class Counted(nn.Module):
    def forward(self, x):
        counts = torch.bincount(x.argmax(-1), minlength=4).float()
        return x * counts


class CountedOnSelf(nn.Module):
    def forward(self, x):
        self.counts = torch.bincount(x.argmax(-1), minlength=4).float()
        return x * self.counts


def test_an_operator_without_a_counterpart_may_be_left_as_a_hole():
    """The advice is true: with `holes=True` the rest of the module is written."""
    with pytest.raises(PortError) as error:
        port(Counted(), (X,))
    assert error.value.reason == (
        "the operator bincount has no counterpart in jaxgrad.functional; write it with other "
        f"operators{LEAVE_A_HOLE}"
    )
    ported = port(Counted(), (X,), holes=True, prove=False)
    assert [hole.place for hole in ported.holes] == [error.value.place]
    assert "return x * counts" in ported.source


def test_a_statement_that_cannot_be_a_hole_has_no_such_advice():
    """A statement that sets an attribute cannot be a function of its own."""
    for holes in (False, True):
        with pytest.raises(PortError, match="bincount has no counterpart") as error:
            port(CountedOnSelf(), (X,), holes=holes)
        assert "holes=True" not in error.value.reason
