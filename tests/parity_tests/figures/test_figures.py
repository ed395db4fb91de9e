"""Every figure is in a notebook, as a run draws it, and is readable; every row has a picture."""

import re

import nbformat
import pytest

from parity_tests.case import load
from parity_tests.figures.canvas import WIDTH
from parity_tests.figures.catalog import FIGURES, figure
from parity_tests.runner.selection import ROWS
from parity_tests.runner.settings import ROOT
from tests.parity_tests.figures.reading import words


SCRIPTS = {path.stem: path.read_text() for path in (ROOT / "notebooks").glob("*.py")}
PLACES = {
    name: script
    for script, source in SCRIPTS.items()
    for name in re.findall(r'^figure\("(\w+)"\)', source, re.MULTILINE)
}
REASONS = dict(
    line.split("\t")
    for line in (ROOT / "parity_tests" / "tables" / "unpictured.tsv").read_text().splitlines()
)
# The figures that a run draws in less than a second; each of the others has its own test.
FAST = "chain_rule clipping_ball fork_sum freed_buffers hook_uses tangent version_counter".split()
# Texts that touch each other, or leave the page.
_COLLISIONS = """() => [...document.querySelectorAll("svg")].flatMap((svg) => {
  const page = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].map((e) => [e.textContent,
    e.getBoundingClientRect()]);
  const out = texts.filter(([, a]) => a.left < page.left || a.right > page.right ||
    a.top < page.top || a.bottom > page.bottom).map(([t]) => `${t} leaves the page`);
  texts.forEach(([t, a], i) => texts.slice(i + 1).forEach(([u, b]) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 0.5 && high > 4) out.push(`${t} touches ${u}`);
  }));
  return out;
})"""


def committed(name):
    """Return the figure in the committed copy of its notebook."""
    book = nbformat.read(ROOT / "notebooks" / f"{PLACES[name]}.ipynb", as_version=4)
    (cell,) = (cell for cell in book.cells if cell.source == f'figure("{name}")')
    (output,) = cell.outputs
    return output["data"]["image/svg+xml"]


def test_every_figure_is_in_a_notebook():
    """Each figure is shown once, and names cases that exist."""
    assert sorted(PLACES) == sorted(FIGURES)
    for name, found in FIGURES.items():
        assert set(found.cases) <= set(load()), name


@pytest.mark.parametrize("name", FAST)
def test_the_committed_figure_is_what_a_run_draws(name):
    """The words and numbers in the notebook are those of a fresh run of torch and JAX."""
    assert words(committed(name)) == words(figure(name)), (
        f"python notebooks/build.py {PLACES[name]}"
    )


@pytest.mark.parametrize("row", ROWS)
def test_every_row_has_a_picture_or_a_reason(row):
    """Each row of the source documents is in a graph, a figure or a plot, or in the table of
    reasons; never in both.
    """
    cases, text = load(), "".join(SCRIPTS.values())
    drawn = set(re.findall(r'^graph\("(.+?)"\)', text, re.MULTILINE))
    drawn |= set(re.findall(r'^\w+ = show\("(.+?)".*\)\.(?:values|measured)$', text, re.MULTILINE))
    drawn |= {case for found in FIGURES.values() for case in found.cases}
    pictured = any(row in cases[case].source for case in drawn)

    assert pictured != (row in REASONS), f"{row}: draw it, or say why not in unpictured.tsv"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_label_of_a_figure_collides(browser, scheme):
    """In a browser, no two texts of a figure overlap, and none leaves the page."""
    tab = browser.new_page(color_scheme=scheme)
    for name in FIGURES:
        tab.set_content(committed(name))
        assert tab.evaluate(_COLLISIONS) == [], name
    tab.set_content(committed("tangent").replace("</svg>", '<text x="14" y="26">over</text></svg>'))
    assert "touches over" in tab.evaluate(_COLLISIONS)[0]
    tab.close()


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_readable_on_a_phone(name):
    """A figure is so narrow that its text of 12 units is at least 9.5 pixels at 390 pixels."""
    (width,) = re.findall(r'viewBox="0 0 ([\d.]+) ', committed(name))
    sizes = [float(size) for size in re.findall(r"font(?:-size)?:([\d.]+)px", committed(name))]

    assert float(width) == WIDTH
    assert min(sizes) * 350 / WIDTH >= 9.5


def test_only_graphs_scroll_on_a_phone():
    """The cells of the wide graphs carry the tag that the site's style lets scroll; a figure fits
    a phone and keeps its natural width on a wider screen.
    """
    cells = [
        cell
        for name in SCRIPTS.keys() - {"build"}
        for cell in nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4).cells
    ]

    assert {cell.source.split("(")[0] for cell in cells if cell.metadata.get("tags")} == {"graph"}
    assert all(cell.metadata.get("tags") for cell in cells if cell.source.startswith("graph("))
    assert ".tag_wide .cell_output" in (ROOT / "docs" / "_static" / "jaxgrad.css").read_text()
    for name in FIGURES:
        assert 'class="jaxgrad-figure" width="560" viewBox' in committed(name)
        assert "max-width" not in committed(name), "a box of the figure has lost its height"
