"""The picture of a card shows the card's own programs, and marks where the wrong one differs."""

import dataclasses
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgrad.graph._model import SUM
from parity_tests.pictures.draw_case import PAGE
from parity_tests.site.traps import drawing, page
from parity_tests.site.traps.card import IMPORTS
from tests.jaxgrad.graph.reading import collisions, overlaps


BY_NAME = {card.name: card for card in page.CARDS}
DRAWN = [card for card in page.CARDS if card.name in page.PICTURES]
MARKS = re.compile(r'class="red b s mid halo">(wrong path|missing path|not stopped)<')


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


@pytest.mark.parametrize("card", DRAWN, ids=lambda card: card.name)
@pytest.mark.parametrize("variant", ["", "-narrow"])
def test_no_word_lies_on_a_word_a_box_or_an_edge(card, variant):
    """Red words and scissors are clear of boxes, badges and live edges, in both variants."""
    kept = (page.PATH.parent / page._image(card, variant)).read_text()

    assert collisions(kept) == [] == overlaps(kept)
    assert kept.count('class="red b s mid halo"') >= kept.count('class="cut sc"'), (
        "scissors without a name"
    )
    widths = [float(width) for width in re.findall(r'<svg [^>]*width="([\d.]+)"', kept)]
    assert widths[0] <= (390 if variant else PAGE)


def test_the_stop_of_detach_is_on_the_dead_edge_in_both_frameworks():
    """The right port has scissors before the sum, which would add both uses, torch beside x."""
    rows = drawing.rows(BY_NAME["`detach`"])
    svg = drawing.picture(BY_NAME["`detach`"])

    assert rows[drawing.TORCH].torch is not None and rows[drawing.TORCH].jax is None
    assert [svg.count(f">{word}<") for word in ("stopped by detach", "stop_gradient")] == [1, 1]
    right = rows[drawing.RIGHT].jax
    assert right is not None
    ends = [(a.names, e.to) for a in right.equations for e in a.edges if e.cut]
    cuts = [(names, right.equations[to].names) for names, to in ends if isinstance(to, int)]
    assert cuts == [(("mul",), (SUM,))] and len(cuts) == len(ends)


def test_a_collision_is_found():
    """The negative control: a red word on a box, or on an edge, is reported."""
    svg = drawing.picture(BY_NAME["`detach`"])
    x, y = re.findall(r'<rect x="([\d.]+)" y="([\d.]+)"[^>]*class="full"', svg)[-1]
    word = f'<text x="{x}" y="{float(y) + 12}" class="red b s mid halo">wrong</text>\n'

    assert any("a box" in each for each in collisions(svg.replace("</svg>", f"{word}</svg>")))


def test_a_gradient_of_the_same_norm_in_another_direction_shows_an_element():
    """A reversed gradient has the norm of the right one, so that a signed element is shown."""
    card = BY_NAME["gradient reversal"]
    rows = drawing.rows(card)
    wrong, right = (gradients(card, port)["w"] for port in (card.wrong, card.right))
    shown = {
        row: graph.leaf("w").element
        for row, setting in rows.items()
        if (graph := setting.torch or setting.jax) is not None
    }

    assert np.allclose(np.linalg.norm(wrong), np.linalg.norm(right))
    assert shown[drawing.WRONG] == f"[0, 0] {wrong[0, 0]:.3g}".replace("-", "−")
    assert shown[drawing.RIGHT] == f"[0, 0] {right[0, 0]:.3g}".replace("-", "−")
    assert shown[drawing.TORCH] == shown[drawing.RIGHT] != shown[drawing.WRONG]
    assert rows[drawing.WRONG].note == "∇w: the same norm, another direction"
    assert drawing.rows(BY_NAME["`detach`"])[drawing.WRONG].note == ""
    svg = drawing.picture(card)
    pill = re.findall(r'class="err" rx="13"/>', svg)
    assert len(pill) == 1, "the badge that differs has a red border"
