"""Variables of flax classes begin with torch's values where these are short."""

import ast

import numpy as np
import pytest
import torch
from flax import nnx
from torch import nn

from jaxgrad.nnx import state_dict
from jaxgrad.parity.port.nnx.initial_values import initial_value
from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source import syntax


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


@pytest.mark.parametrize(
    ("tensor", "text"),
    [
        (torch.zeros(2, 3), "jnp.zeros((2, 3), jnp.float32)"),
        (torch.ones(4, dtype=torch.bool), "jnp.ones(4, bool)"),
        (torch.full((3,), -2.0), "jnp.full(3, -2.0, jnp.float32)"),
        (torch.tensor(1.3), "jnp.array(1.3, jnp.float32)"),
        (torch.full((2,), torch.inf), "jnp.full(2, jnp.inf, jnp.float32)"),
        (torch.full((2,), 0.1, dtype=torch.float64), "jnp.full(2, 0.1, jnp.float64)"),
        (torch.arange(5.0), "jnp.arange(5, dtype=jnp.float32)"),
        (torch.arange(9)[None, None], "jnp.arange(9, dtype=int)[None, None]"),
        (torch.ones(1, 4, 4).tril().bool(), "jnp.tril(jnp.ones((1, 4, 4), bool))"),
        (torch.full((3, 3), -torch.inf).triu(1),
         "jnp.triu(jnp.full((3, 3), -jnp.inf, jnp.float32), 1)"),
        (torch.tensor([0.485, 0.456, 0.406]), "jnp.array([0.485, 0.456, 0.406], jnp.float32)"),
        (torch.tensor([-0.601779]), "jnp.empty(1, jnp.float32)"),
        (torch.tensor(0.49671415), "jnp.empty((), jnp.float32)"),
        (torch.tensor([0.49671415, 0.5]), "jnp.empty(2, jnp.float32)"),
        (torch.arange(9.0) ** 2, "jnp.empty(9, jnp.float32)"),
        (torch.full((2,), torch.nan), "jnp.empty(2, jnp.float32)"),
        (torch.full((2,), 2j), "jnp.empty(2, jnp.complex64)"),
        (torch.zeros(2, dtype=torch.complex64), "jnp.zeros(2, jnp.complex64)"),
        (torch.empty(0, 3), "jnp.zeros((0, 3), jnp.float32)"),
    ],
)  # fmt: skip
def test_a_short_value_is_written(tensor, text):
    """Random numbers, with many digits, and longer tables stay `jnp.empty`."""
    assert syntax.text(initial_value("scale", tensor, [tensor])) == text


def test_modules_of_one_class_have_one_form():
    """Fills differ in their number alone, and other tensors begin as `jnp.empty` in all modules."""

    def form(*tensors):
        return syntax.text(initial_value("scale", tensors[0], tensors))

    assert form(torch.zeros(2), torch.full((2,), 0.5)) == "jnp.full(2, 0.0, jnp.float32)"
    assert form(torch.zeros(2), torch.tensor([0.5, 0.25])) == "jnp.empty(2, jnp.float32)"
    assert form(torch.arange(4.0), torch.arange(9.0)) == "jnp.arange(4, dtype=jnp.float32)"
    assert form(torch.ones(2), torch.ones(3)) == "jnp.ones(2, jnp.float32)"


class Scale(nn.Module):
    def __init__(self, value):
        super().__init__()
        self.scale = nn.Parameter(torch.full((3,), value))

    def forward(self, x):
        return x * self.scale


class Constants(nn.Module):
    """A module that fills parameters of its layers, and has a table."""

    table: torch.Tensor

    def __init__(self):
        super().__init__()
        self.fc, self.norm = nn.Linear(3, 4), nn.LayerNorm(4)
        inner, last = nn.Linear(4, 4), nn.Linear(4, 3)
        self.head = nn.Sequential(inner, nn.ReLU(), last)
        self.first, self.second = Scale(0.5), Scale(2.0)
        nn.init.constant_(self.fc.bias, -2.0)
        nn.init.zeros_(inner.bias)
        nn.init.zeros_(last.weight)
        self.register_buffer("project", torch.arange(3.0))
        self.register_buffer("table", torch.arange(100.0).sin(), persistent=False)
        self.embed = nn.Parameter(torch.randn(3))

    def forward(self, x):
        x = self.head(self.norm(self.fc(x))) + self.first(x) * self.second(self.project)
        return x + self.table[:3] + self.embed


def docstring(source: str, name: str) -> str:
    nodes = [n for n in ast.parse(source).body if isinstance(n, ast.ClassDef)]
    text = ast.get_docstring(next(n for n in nodes if n.name == name))
    return " ".join((text or "").split())


def test_a_new_model_begins_with_torchs_constants():
    """Everything but random numbers agrees with torch before a state_dict is loaded."""
    torch.manual_seed(0)
    module = Constants()
    ported = port(module, (X,), style="nnx")
    new, torchs = state_dict(ported.fn(rngs=nnx.Rngs(0))), module.state_dict()
    differ = {name for name, x in new.items() if not np.array_equal(x, torchs[name].numpy())}
    assert differ == {"embed", "fc.weight", "head.0.weight", "head.0.bias", "head.2.bias"}
    about = docstring(ported.source, "Constants")
    assert about.endswith(
        "`jaxgrad.nnx.load_state_dict` sets `embed`, which the constructor leaves as `jnp.empty`. "
        "No state_dict has `table`, which the constructor leaves as `jnp.empty`: copy torch's "
        "values."
    )
    assert "values that the torch module had when this file was written" in ported.source
    assert "jnp.empty" not in docstring(ported.source, "Scale")


class Shuffle(nn.Module):
    def __init__(self, order):
        super().__init__()
        self.register_buffer("order", torch.tensor(order), persistent=False)

    def forward(self, x):
        return x[:, self.order]


def test_an_array_that_differs_between_modules_is_one_argument_of_their_class():
    """A constructor with an argument for each number of a permutation cannot be read."""
    module = nn.Sequential(Shuffle([2, 0, 1]), nn.Linear(3, 3), Shuffle([1, 2, 0]))

    ported = port(module, (np.ones((2, 3), np.float32),), style="nnx")

    assert "def __init__(self, order):" in ported.source
    assert "Shuffle(order=(2, 0, 1))" in ported.source
    assert "Shuffle(order=(1, 2, 0))" in ported.source
