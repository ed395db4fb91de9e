"""The cards of the gallery of traps are complete, and rows of the cheat sheet become files."""

import ast
import re

import pytest

from parity_tests.case import load
from parity_tests.site.traps.card import IMPORTS, SIMPLE, from_row
from parity_tests.site.traps.page import CARDS


@pytest.mark.parametrize("card", CARDS, ids=lambda card: card.name)
def test_a_card_is_complete(card):
    """A card has Python of readable width, a sentence, and behaviours that are cases."""
    assert card.trap.endswith(".")
    assert card.wrong != card.right
    assert set(card.behaviours) <= set(load())
    for code in (card.torch, card.wrong, card.right):
        ast.parse(code)
        assert max(map(len, code.splitlines())) <= 100, card.name


def test_the_cards_have_distinct_names():
    """A name is an anchor of the page, so no two cards have the same."""
    assert len({card.name for card in CARDS}) == len(CARDS)


def test_the_shared_code_is_python():
    """The imports and the simple pair, which the page shows, are Python."""
    names = ast.parse(IMPORTS + SIMPLE).body

    assert {"Model", "port"} <= {getattr(node, "name", "") for node in names}


def test_a_row_of_the_cheat_sheet_becomes_three_files():
    """The gradient's argument becomes a parameter, the others become inputs."""
    card = from_row("`padding_idx`", "a/b")

    assert card.torch == (
        "class Model(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.x = nn.Parameter(torch.tensor([[1.0], [2.0], [3.0]]))\n\n"
        "    def forward(self, ids):\n"
        "        x = self.x\n"
        "        return F.embedding(ids, x, padding_idx=0).sum()\n\n\n"
        "inputs = (np.array([0, 2, 2]),)"
    )
    assert card.wrong == 'def port(params, ids):\n    x = params["x"]\n    return x[ids].sum()'
    assert card.right.endswith("return functional.embedding(ids, x, padding_idx=0).sum()")
    assert card.behaviours == ("a/b",) and card.row is not None


def test_a_program_is_summed_unless_it_is_a_loss():
    """A sum is added to an array or an expression, not to a loss, and a comment stays."""
    returns = {
        name: re.findall(r"return (.*)", from_row(name).wrong)
        for name in ("`abs` at 0", "`detach`", "`var`, `std`")
    }
    function = from_row("`autograd.Function`").right

    assert returns == {
        "`abs` at 0": ["jnp.abs(x).sum()"],
        "`detach`": ["(x * x).sum()"],
        "`var`, `std`": ["x.var()"],
    }
    assert function.endswith(".sum()  # Cube without its base")
    assert ".sum()" not in from_row("`abs` at 0", loss=False).torch


def test_several_inputs_and_code_before_a_program_are_kept():
    """A row's hidden code precedes the programs that use it, and its arrays become a tuple."""
    masked, function = from_row("softmax of a masked row"), from_row("`autograd.Function`")

    assert masked.torch.endswith(
        "inputs = (np.float32([[1.0, 2.0], [0.5, 0.0]]), np.array([[False, True], [True, True]]))"
    )
    assert function.torch.startswith("class Cube(torch.autograd.Function):")
    assert function.right.startswith("class JaxCube:")
    assert "Cube" not in function.wrong
    assert function.torch.endswith("inputs = ()")
