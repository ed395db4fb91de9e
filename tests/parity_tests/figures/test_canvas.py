"""The shapes of figures: colours with enough contrast, numbers, and escaped words."""

import itertools

import pytest

from parity_tests.figures import canvas


def _light(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(a, b):
    high, low = sorted((_light(a), _light(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme, name", list(itertools.product((0, 1), canvas._COLORS)))
def test_text_is_readable_in_both_themes(theme, name):
    """Coloured text on the page, and black or white text in a box, have a contrast of 4.5."""
    (page, ink), (line, area) = canvas._PAGE[theme], canvas._COLORS[name][theme]

    assert _contrast(line, page) >= 4.5
    if area != "none":
        assert _contrast(ink, area) >= 4.5


def test_faint_text_would_be_found():
    """A light gray on white has too little contrast."""
    assert _contrast("#aaaaaa", "#ffffff") < 4.5


def test_both_writes_one_number_or_two():
    """Equal numbers are written once; None, a sign and a difference are kept."""
    assert canvas.both(-72.0, -72.0) == "−72"
    assert canvas.both(None, None) == "None"
    assert canvas.both(None, 0.0) == "torch None, JAX 0"
    assert canvas.both(1.0, 2.0) == "torch 1, JAX 2"


def test_words_are_escaped():
    """Markup in a text or in the title is escaped."""
    assert "<b>" not in canvas.svg("<b>", [canvas.text(0, 0, "<b>")], 10)


def test_an_arrow_ends_at_its_end():
    """The head of an arrow points at the end, also if the arrow is bent."""
    for bend in (0, 20):
        drawn = canvas.arrow(canvas.Point(0, 0), canvas.Point(30, 40), "torch", bend)
        assert 'points="30,40 ' in drawn
