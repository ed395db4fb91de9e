"""Code that a rule writes says which operator of torch it computes."""

import ast
import importlib

import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.ir import Op
from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.rules import table
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression


PORT = importlib.import_module("jaxgrad.parity.port.port")
X = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)


class Each(nn.Module):
    """Calls operators as functions, as methods and in place."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        h = self.linear(torch.roll(x, 1, dims=-1)).relu_()
        return nn.functional.gelu(h.transpose(1, 2)).flatten(1).sum(-1)


class Unchanged(nn.Module):
    """Calls operators that return their argument as it is."""

    def __init__(self):
        super().__init__()
        self.body, self.drop = nn.Sequential(nn.Linear(4, 4), nn.Tanh()), nn.Dropout(0.0)

    def forward(self, x):
        return self.drop(self.body(x).contiguous()).flatten(2)


class Attention(nn.Module):
    """Attends in a batch, which is a template, and without one, which is a function of torch."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, dropout=0.1, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x)[0] + self.attention(x[0], x[0], x[0])[0]


def written(monkeypatch, module):
    """Return the operators that a module calls, with the `Op` of the code that is written."""
    operators: list[tuple[str, Op | None]] = []
    write = table.write

    def kept(operation):
        code = write(operation)
        op = on_expression(code).computes if isinstance(code, ast.AST) else None
        operators.append((operation.name, op))
        return code

    monkeypatch.setattr(table, "write", kept)
    port(module.eval(), (X,), prove=False)
    return operators


def test_an_operator_is_the_same_in_each_of_its_forms(monkeypatch):
    """The method in place has the name of the function, and only calls of `F` are functional."""
    operators = dict(written(monkeypatch, Each()))

    assert operators == {
        "linear": Op("linear", functional=True),
        "roll": Op("roll"),
        "relu": Op("relu"),
        "transpose": Op("transpose"),
        "gelu": Op("gelu", functional=True),
        "flatten": Op("flatten"),
        "sum": Op("sum"),
    }


def test_an_argument_is_not_the_result_of_an_operator_that_returns_it(monkeypatch):
    """Dropout in eval mode returns the value of `body`, which dropout does not compute."""
    operators = written(monkeypatch, Unchanged())

    names = {op.name for _, op in operators if op is not None}
    assert {"dropout", "contiguous", "flatten"} <= {name for name, _ in operators}
    assert names == {"linear", "tanh"}


@pytest.mark.parametrize("style", ["functions", "nnx"])
@pytest.mark.parametrize(
    "module",
    [
        Each(), Unchanged(), Attention(), nn.LSTM(4, 4, 2, dropout=0.1), nn.BatchNorm1d(3),
        nn.TransformerEncoderLayer(4, 2, 8),
    ],
    ids=lambda module: type(module).__name__,
)  # fmt: skip
def test_no_pass_loses_the_operator_of_a_call(monkeypatch, module, style):
    """Each call of `F` in a written file still has the `Op` with the name of its function."""
    files = []
    owner = (
        PORT if style == "functions" else importlib.import_module("jaxgrad.parity.port.nnx.port")
    )
    write = owner.write_file

    def kept(title, functions, *args, **options):
        files.append([node for w in functions for node in ast.walk(w.node)])
        return write(title, functions, *args, **options)

    monkeypatch.setattr(owner, "write_file", kept)
    port(module.train(), (X,), prove=False, style=style)

    calls = [(node, name) for node in files[-1] if (name := syntax.called(node))[:2] == "F."]
    assert calls or style == "nnx"
    for node, name in calls:
        assert on_expression(node).computes == Op(name[2:], functional=True), ast.unparse(node)
        assert syntax.functional_of(node) is not None
