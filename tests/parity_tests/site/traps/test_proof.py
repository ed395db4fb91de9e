"""The wrong port of a card fails, the right one passes, and the page shows what is printed."""

import re

import numpy as np
import pytest

from parity_tests.site.printed import of_any_torch
from parity_tests.site.traps import page
from parity_tests.site.traps.card import IMPORTS
from parity_tests.site.traps.proof import LAX, files, gradients, outcome, printed
from parity_tests.site.traps.symptoms import symptom
from tests._helpers import ALL


NUMBER = re.compile(r"-?\b(?:\d[\d.]*(?:e-?\d+)?|nan|inf)\b")
SAMPLE = ("`clamp` at a bound", "hook on a tensor", "a product in float32 under autocast")
RUN = [card for card in page.CARDS if ALL or card.name in SAMPLE]


@pytest.mark.parametrize("card", RUN, ids=lambda card: card.name)
def test_a_card_holds_and_the_page_is_current(card):
    """`prove` fails the wrong port, passes the right one, and the page quotes its report."""
    run = outcome(card)

    assert run.wrong.verdict == "fail", run.wrong
    assert run.right.verdict == "pass", run.right
    # The last digits depend on how XLA compiles.
    (room,) = (room for room, cards in page.ROOMS.items() if card in cards)
    shown = (page.PATH.parent / page.path(room)).read_text()
    assert _comparable(page.section(card, run)) in _comparable(shown), "run: make pages"
    seen = page.PATH.read_text().partition(f"## {symptom(run).rstrip('.')}")[2]
    assert f"[{card.name}](" in seen.partition("\n## ")[0], "run: make pages"


def test_an_edit_uses_the_names_of_the_prescribed_imports():
    """A card prints the edit that `prove` suggests for a file with the imports of a card."""
    (card,) = (card for card in page.CARDS if card.name.strip("`") == "detach")
    edit = printed(outcome(card).wrong.first)

    assert "+ return (lax.stop_gradient(x) * x).sum()" in edit
    assert LAX in IMPORTS.splitlines()


HARMLESS = {
    # A batch in which no episode ends.
    "a terminal state with a next value": lambda inputs: (*inputs[:3], 0 * inputs[3]),
    # The first step on a batch: the stored log-probabilities are those of the policy.
    "a PPO ratio that is always 1": lambda inputs: (inputs[0], LOGP[inputs[0]], inputs[2]),
}
LOGP = np.log(np.exp([0.5, -1.0, 0.2]) / np.exp([0.5, -1.0, 0.2]).sum()).astype("float32")


@pytest.mark.parametrize("name", HARMLESS)
def test_a_card_of_reinforcement_learning_says_where_the_mistake_does_not_show(name):
    """With such inputs the wrong port has torch's loss and gradient; with those of the card not."""
    (card,) = (card for card in page.CARDS if card.name == name)

    def largest_difference(of):
        return max(np.abs(torch - wrong).max() for torch, wrong in gradients(of).values())

    with files(card) as of:
        assert largest_difference(of) > 0.1
        vars(of.model)["inputs"] = HARMLESS[name](of.model.inputs)
        assert largest_difference(of) < 1e-6


def test_the_symptom_of_a_leaf_that_is_not_used():
    """If the outputs differ too, the index lists the card among the cards with other outputs."""
    (card,) = (card for card in page.CARDS if card.name == "the weights of another layer")
    run = outcome(card)

    assert run.wrong.first is not None and run.wrong.first.surface == "structure"
    assert symptom(run) == "Nothing raises, and the outputs differ."


def _comparable(text: str) -> str:
    """Return a text without numbers, and without what torch 2.14 changed at the bound of clamp."""
    text = re.sub(r"passes (?:none|all) of it", "passes # of it", of_any_torch(text))
    return NUMBER.sub("#", text)


def test_paths_become_names_of_files():
    """A report names the files of a card, and other paths stay."""
    text = "jax: /tmp/a b/x, /tmp/tmp1/wrong/port.py:3 (add), /tmp/tmp1/model.py:7 | /opt/x.py:1"

    assert printed(text) == "jax: /tmp/a b/x, port.py:3 (add), model.py:7 | /opt/x.py:1"
