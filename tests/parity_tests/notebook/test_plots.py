"""A plot of matplotlib becomes an SVG whose ink follows the colour scheme of the page."""

import re
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import pytest

from parity_tests.notebook.plots import plot, themed


@pytest.fixture
def drawn():
    plt.switch_backend("agg")

    def draw():
        plt.figure(figsize=(3, 2))
        plt.plot([1, 2], [3, 4], color="#d95f02", label="torch")
        plt.xlabel("step")
        plt.legend()
        return plot("a line")

    return draw


def test_a_plot_has_text_and_a_title_and_no_ground(drawn):
    """Text is text, the title is read aloud, and nothing but the curve has a colour of its own."""
    svg = drawn().svg
    root = ET.fromstring(svg)
    space = "{http://www.w3.org/2000/svg}"

    assert root.findtext(f"{space}title") == "a line"
    assert {"step", "torch"} <= {"".join(each.itertext()) for each in root.iter(f"{space}text")}
    own = re.findall(r"(?:fill|stroke): (#\w+)", svg)
    assert set(own) == {"#d95f02"}
    assert "prefers-color-scheme:dark" in svg


def test_every_ink_of_matplotlib_is_replaced_once():
    """An element with ink as fill and as line gets both classes in one attribute."""
    ink = "#010203"
    svg = f'<svg width="3pt" height="3pt"><path style="fill: {ink}; stroke: {ink}; x: 1"/></svg>'

    assert 'class="ink-fill ink-stroke" style="x: 1"' in themed(svg, "t")
    assert 'width="4" height="4"' in themed(svg, "t")


def test_equal_plots_give_equal_bytes_and_leave_no_figure_open(drawn):
    """A notebook that is built again does not change."""
    assert drawn().svg == drawn().svg
    assert not plt.get_fignums()
