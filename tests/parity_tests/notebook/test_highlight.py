"""Colored code is readable and keeps its text."""

import html
import re

import pytest

from parity_tests.notebook.highlight import BACKGROUND, COLORS, INK, MARKED, block


CODE = 'def f(x):\n    """A\n\n    doc."""\n\n\n    return x < 1  # one\n\nprint(f(2))'


def luminance(color):
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("ground", (BACKGROUND, MARKED))
def test_every_color_is_readable_on_its_ground(ground):
    """Each color has a contrast of at least 4.5 with the ground of the code and of marked lines."""
    for color in {INK, *(color for _, color in COLORS)}:
        assert (luminance(ground) + 0.05) / (luminance(color) + 0.05) >= 4.5, (color, ground)


def test_the_text_of_colored_code_is_the_code():
    """Colors and marks add no character and break no line."""
    text = re.sub("<[^>]*>", "", block(CODE, {0, 6}))

    assert html.unescape(text) == CODE


def test_a_marked_line_is_marked_without_styles():
    """The marked line, and no other, stands in `<mark>`, which GitHub keeps."""
    marked = re.findall("<mark[^>]*>(.*)</mark>", block(CODE, {6}))

    assert [html.unescape(re.sub("<[^>]*>", "", line)) for line in marked] == [CODE.split("\n")[6]]
