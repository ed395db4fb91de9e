"""The nodes of the intermediate representation are frozen data."""

import dataclasses
from typing import Any

import pytest

from jaxgrad.parity.port import ir
from jaxgrad.parity.port.ir import Form, NameOf, Number


def test_every_node_is_frozen_data_without_ast():
    """Nodes can be compared and shared, and a printer needs nothing else to write them."""
    nodes: list[Any] = [x for x in vars(ir).values() if dataclasses.is_dataclass(x)]

    assert Number in nodes and all(x.__dataclass_params__.frozen for x in nodes)
    assert not hasattr(ir, "ast")


def test_a_node_is_frozen():
    """A pass returns a new node, so that a node can be shared."""
    number = Number(8, "heads", NameOf.ATTRIBUTE)

    with pytest.raises(dataclasses.FrozenInstanceError):
        number.name = "width"  # pyright: ignore[reportAttributeAccessIssue]

    assert number == Number(8, "heads", NameOf.ATTRIBUTE)


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (Number(8, "_heads", NameOf.ATTRIBUTE), "heads"),
        (Number(8, "HEADS", NameOf.GLOBAL), "heads"),
        (Number(8, "HEADS", NameOf.GLOBAL, "parts"), "parts"),
        (Number(8, "heads", NameOf.ATTRIBUTE, "parts"), "heads"),
        (Number(-8, "heads", NameOf.FORMULA, "parts"), "parts"),
        (Number(8, "max", NameOf.ATTRIBUTE), "max_value"),
        (Number(8), ""),
    ],
)
def test_a_keyword_has_the_authors_name(number, name):
    """A constant of the file and a formula have the name of the variable that holds them."""
    assert number.keyword == name


def test_a_number_has_an_author_name_until_it_is_written():
    """The name of an option is not the author's. A keyword is written by its name already."""
    number = Number(8, "heads", NameOf.ATTRIBUTE)
    others = [
        Number(8, "dim"),
        number.without_author(),
        dataclasses.replace(number, form=Form.KEYWORD),
        Number(0, "total", NameOf.VARIABLE, "total"),
    ]

    assert number.has_author_name and not any(x.has_author_name for x in others)
