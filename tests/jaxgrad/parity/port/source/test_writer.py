"""The docstring of a written file fits the width of a line."""

import pytest

from jaxgrad.parity.port.source.line_breaks import WIDTH
from jaxgrad.parity.port.source.writer import write_file


@pytest.mark.parametrize("length", [WIDTH - 6, WIDTH - 5, WIDTH - 3])
def test_a_title_that_fills_its_line_has_the_quotes_below(length):
    """The quotes are on the line of the title if there is room for them."""
    title = "x" * length
    head = write_file(title, [], []).split("\n\n")[0]
    assert head == f'"""{title}' + ('"""' if length == WIDTH - 6 else '\n"""')
