"""The picture of a card shows the card's own programs, and marks where the wrong one differs."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from parity_tests.site.traps import drawing, page
from parity_tests.site.traps.card import IMPORTS


BY_NAME = {card.name: card for card in page.CARDS}
DRAWN = [card for card in page.CARDS if card.name in page.PICTURES]
MARKS = re.compile(r'class="red b s halo">(wrong|missing)<')


def gradients(card, port):
    """Return the gradients of the sum of a port's output, from the text that the page shows."""
    names = {}
    exec(f"{IMPORTS}{card.torch}\n{port}", names)
    params = {k: jnp.asarray(v.detach().numpy()) for k, v in names["Model"]().state_dict().items()}
    return jax.grad(lambda params: names["port"](params, *names["inputs"]).sum())(params)


@pytest.mark.parametrize("name", ["`detach`", "straight-through", "hook on a parameter"])
def test_both_ports_of_a_picture_are_the_code_of_its_card(name):
    """The drawn norms are those of the gradients of the code that the page shows."""
    card = BY_NAME[name]
    rows = drawing.rows(card)
    for row, port in ((drawing.WRONG, card.wrong), (drawing.RIGHT, card.right)):
        graph = rows[row].jax
        assert graph is not None
        for leaf, grad in gradients(card, port).items():
            assert np.isclose(graph.leaf(leaf).grad or 0.0, np.linalg.norm(grad)), (row, leaf)


@pytest.mark.parametrize("card", DRAWN, ids=lambda card: card.name)
def test_the_committed_picture_marks_the_mistake_in_words_or_with_scissors(card):
    """Each picture labels a wrong or missing gradient, or shows the cut that is one too many."""
    kept = (page.PATH.parent / page._image(card)).read_text()

    assert MARKS.search(kept) or kept.count(">stop_gradient<") == 1


def test_a_right_port_has_no_mark():
    """The negative control: the picture of a right port in place of the wrong one marks nothing."""
    card = BY_NAME["`detach`"]
    mended = dataclasses.replace(card, wrong=card.right)

    assert MARKS.search(drawing.picture(card))
    assert not MARKS.search(drawing.picture(mended))


def test_a_gradient_of_the_same_norm_in_another_direction_is_named():
    """A reversed gradient has the norm of the right one, so that a note must tell them apart."""
    rows = drawing.rows(BY_NAME["gradient reversal"])

    assert rows[drawing.WRONG].note == "∇w: the same norm, another direction"
    assert drawing.rows(BY_NAME["`detach`"])[drawing.WRONG].note == ""
