"""The rows of inputs have the names of torch's arguments."""

from types import SimpleNamespace

import pytest

from jaxgrad.parity.prove.arguments import named
from jaxgrad.parity.prove.report import Surface


def forward(state, reward, *, mask=None):
    """Stand for a module with two positional arguments."""


@pytest.mark.parametrize(
    ("name", "argument"),
    [("input 0", "state"), ("input 1/key", "reward"), ("input 2", None), ("input mask", None),
     ("l1.weight", None)],
)  # fmt: skip
def test_a_positional_input_has_its_name(name, argument):
    """An input that is named already, or unknown, keeps its path alone."""
    surface = Surface("gradients", "pass", "", rows=({"name": name},))
    (row,) = named(surface, SimpleNamespace(forward=forward)).rows

    assert row == {"name": name} | ({"argument": argument} if argument else {})


@pytest.mark.parametrize("module", [None, SimpleNamespace(forward=len)])
def test_without_a_signature_no_input_has_a_name(module):
    """A dump has no module, and a compiled method has no signature or other names."""
    surface = Surface("gradients", "pass", "", rows=({"name": "input 3"},))

    assert named(surface, module) == surface
