"""The port's line is quoted: the JAX program's, or torch's if JAX has the original."""

import importlib.util
import pathlib
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from jaxgrad.parity import Finding, prove
from jaxgrad.parity.prove.causes.case import Explanation
from jaxgrad.parity.prove.edits import InTorch
from jaxgrad.parity.prove.locate import quotes
from tests.jaxgrad.parity.prove._helpers import arrays, draw


MODEL = """\
import torch
from torch import nn
from torch.nn import functional as F

class Model(nn.Module):
    def forward(self, x):
        h = F.softmax(x, dim=0)
        y = F.gelu(h)
        z = torch.relu(y).detach()
        return z
"""


@pytest.fixture
def evidence(tmp_path: pathlib.Path) -> Any:
    """Return the evidence of a module in a file of its own, with JAX as the reference."""
    path = tmp_path / "linear.py"  # a file of torch has this name too
    path.write_text(MODEL)
    spec = importlib.util.spec_from_file_location("linear", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    net = nn.Sequential(nn.Linear(2, 2), module.Model())
    return SimpleNamespace(reference="jax", torch_side=SimpleNamespace(module=net))


def finding(line: str, op: str = "") -> Finding:
    return Finding("forward", "net", "port.py:1", "text", op=op, torch_line=line)


@pytest.mark.parametrize(
    ("line", "op", "fix", "write", "new"),
    [
        (7, "softmax", ("axis=1", "axis=0"), InTorch(), "h = F.softmax(x, dim=1)"),
        (8, "gelu", ("silu", "gelu"), InTorch(), "y = F.silu(h)"),
        (8, "gelu", ("", ""), InTorch("approximate='tanh'"), "y = F.gelu(h, approximate='tanh')"),
        (9, "relu", ("", ""), InTorch(removed="relu"), "z = y.detach()"),
        (9, "relu", ("a", "b"), InTorch(), None),
        (99, "relu", ("a", "relu"), InTorch(), None),
    ],
)
def test_torchs_line_is_quoted_and_changed_to_what_jax_does(evidence, line, op, fix, write, new):
    """A change of the JAX code is turned round, and an axis is a dim in torch."""
    quoted = quotes.quoted(evidence, finding(f"linear.py:{line}", op), None, fix, write)
    lines = MODEL.splitlines()
    text = lines[line - 1].strip() if line < len(lines) else ""

    assert quoted.source == (f"linear.py:{line}: {text}" if text else "")
    assert (quoted.edit and quoted.edit.new.strip()) == new


@pytest.mark.parametrize("line", ["other.py:7", "linear.py", ""])
def test_a_line_of_another_file_is_not_quoted(evidence, line):
    assert quotes.quoted(evidence, finding(line), None).source == ""
    dump: Any = SimpleNamespace(reference="jax", torch_side=SimpleNamespace(module=None))
    assert quotes.quoted(dump, finding("linear.py:7"), None).source == ""


@pytest.mark.parametrize(
    ("why", "line", "new"),
    [
        (dict(lines=("linear.py:8",), confirmed=True, fix=("stop_gradient", "")), "linear.py:8",
         "y = F.gelu(h).detach()"),
        (dict(lines=("linear.py:8",), confirmed=True), "linear.py:8", None),  # a hook
        (dict(lines=("linear.py:9",), confirmed=True, stops_torch=True), "linear.py:9",
         "z = torch.relu(y)"),
        (dict(lines=("linear.py:8",)), "linear.py:8", None),
        (dict(lines=("linear.py:8", "linear.py:9"), confirmed=True), "linear.py:8", None),
        (dict(confirmed=True), "", None),
    ],
)  # fmt: skip
def test_a_stop_is_added_or_left_out_in_torch(evidence, why, line, new):
    """Only a confirmed cause with one place leads to a change."""
    explained = quotes.explained(evidence, finding(""), Explanation("x", frozenset(), True, **why))
    assert explained.torch_line == line
    assert (explained.edit and explained.edit.new.strip()) == new


def test_a_change_of_torch_that_breaks_another_use_is_not_printed():
    """Both layers run the changed line, of which only one should change."""

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def layer(self, h):
            return torch.tanh(h)

        def forward(self, x):
            return self.layer(self.b(self.layer(self.a(x))))

    def port(p: Any, x: Any) -> Any:
        import jax
        import jax.numpy as jnp

        h = jax.nn.relu(x @ p["a.weight"].T + p["a.bias"])
        return jnp.tanh(h @ p["b.weight"].T + p["b.bias"])

    net = Net()
    report = prove(net, port, arrays(net), (draw(3, 4),), reference="jax")
    assert report.first is not None and report.first.edit is None
    assert "the activation is tanh, JAX uses relu" in report.first.cause
    assert net.layer(torch.tensor(-1.0)) == torch.tanh(torch.tensor(-1.0))
