"""Parts of the params are compared by their paths."""

import ast

import pytest

from jaxgrad.parity.port.ir import Param
from jaxgrad.parity.port.source import param_paths, syntax


def parsed(text):
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("text", "param"),
    [
        ("p", Param()),
        ('p["layers"][0]["weight"]', Param(("layers", 0, "weight"))),
        ('layer["weight"]', Param(("weight",), "layer")),
        ('f(p)["weight"]', Param(("weight",), "")),
        ('p["layers"][i]', Param((), "")),
    ],
)
def test_the_path_of_an_expression_begins_at_a_variable(text, param):
    """An index that is not a constant, or a call, is not on a path."""
    assert param_paths.of(parsed(text)) == param


def test_a_path_becomes_its_expression():
    """Digits in a path are positions in lists."""
    code = param_paths.reach("layers.0.weight")

    assert syntax.text(code) == "p['layers'][0]['weight']"
    assert param_paths.of(code) == Param().at("layers").at(0).at("weight")


def test_a_part_is_in_itself_and_in_what_contains_it():
    """A path with the same end is another part, and so is the same path of another variable."""
    weight = Param(("layers", 0, "weight"))

    assert weight.is_in(weight) and weight.is_in(Param(("layers", 0))) and weight.is_in(Param())
    assert not Param(("layers",)).is_in(weight)
    assert not weight.is_in(Param(("weight",))) and not weight.is_in(Param((), "layer"))
