"""The pages with programs print what stands under each block."""

import re

import jax
import pytest

from parity_tests.runner.settings import ROOT
from parity_tests.site.printed import BLOCK, filled, outputs, script


NUMBER = re.compile(r"(?<![\w.])-?\d+(\.\d+)?(e-?\d+)?(?![\w:])")
# What other releases of JAX print differently: a jaxpr, and the residuals of its VJP.
RELEASE = re.compile(r"\{ lambda .*?\}\n|^JAX   \[[^\n]*\]\n", re.DOTALL | re.MULTILINE)
PAGES = ("tape_or_transform", "five_questions", "kinks", "weights")


@pytest.mark.filterwarnings("ignore:`torch.jit.script`")  # torch.func.jvp calls it
@pytest.mark.parametrize("name", PAGES)
def test_a_page_prints_what_is_written(name):
    """Each block of a page prints the text under it, except for digits."""
    page = (ROOT / "docs" / f"{name}.md").read_text()

    assert BLOCK.findall(page)
    assert _comparable(filled(page, f"{name}.py")) == _comparable(page), "run: make pages"


def test_a_page_names_the_release_whose_program_it_shows():
    """JAX releases print different jaxprs and keep other residuals; the page says whose it has."""
    page = (ROOT / "docs" / "tape_or_transform.md").read_text()

    assert f"(here by JAX {_release(_written_with())})" in page
    assert f"In JAX {_release(_written_with())}, the rule for tanh" in page
    assert len(RELEASE.findall(page)) == 4


def _comparable(page: str) -> str:
    """Return a page without digits; under another release, without what that prints differently."""
    same = _release(jax.__version__) == _release(_written_with())
    return NUMBER.sub("#", page if same else RELEASE.sub("(of JAX)\n", page))


def _written_with() -> str:
    """Return the version of JAX that constraints.txt pins for Python 3.11, where pages are made."""
    (pin,) = re.findall(
        r"^jax==(\S+); python_version < '3.12'",
        (ROOT / "constraints.txt").read_text(),
        re.MULTILINE,
    )
    return pin


def _release(version: str) -> str:
    return ".".join(version.split(".")[:2])


def test_the_blocks_of_a_page_are_one_script():
    """A later block sees the names of an earlier one, and errors name lines of the whole script."""
    page = "```python\nx = 2\n```\n\ntext\n\n```python\nprint(x)\n\n\ndef f(): 1 / 0\n```\n"

    assert outputs(page, "s.py") == ["", "2\n"]
    assert script(page).splitlines()[2] == "print(x)"
    assert "```text\n2\n```" in filled(page, "s.py")
    assert filled(filled(page, "s.py"), "s.py") == filled(page, "s.py")


def test_a_stale_output_is_replaced():
    """Text under a block that the block does not print is not kept."""
    page = "```python\nprint(1)\n```\n\n```text\n7\n```\n"

    assert filled(page, "s.py") == page.replace("7", "1")


def test_the_table_of_kinks_is_what_the_script_prints():
    """Each row of the table of docs/kinks.md has the gradients that the script prints."""
    page = (ROOT / "docs" / "kinks.md").read_text()
    (_, printed), *_ = BLOCK.findall(page)
    lines = [re.split(r"  +", line.strip())[:4] for line in printed.splitlines()[1:]]
    rows = re.findall(r"^\| ([^|]+) \| `([^`]+)` \| `([^`]+)` \| `([^`]+)` \|", page, re.MULTILINE)

    assert len(lines) == 10
    assert list(map(list, rows)) == lines
