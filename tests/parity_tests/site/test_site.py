"""Tests of the generated pages; `make docs` builds the site and checks its external links."""

import json
import pathlib
import re
import subprocess

import pytest

from parity_tests.case import load
from parity_tests.report.text import markdown
from parity_tests.runner.settings import ROOT
from parity_tests.site import api as docs_api
from parity_tests.site import links as docs_links
from parity_tests.site import pages as docs_pages
from parity_tests.site.api import prose
from tests.test_contract import PUBLIC


CASES = load()
DEVIATIONS = [case for case in CASES.values() if case.deviation is not None]
PAGES = docs_pages.pages()


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_helper_is_on_an_api_page(name):
    """Every public name is in the table of the API and on the page of its theme."""
    (entry,) = (e for e in docs_api.entries() if e.path == f"jaxgrad.{name}")
    page = PAGES[f"api/{entry.theme}.md"]

    assert f"<jaxgrad.{name}>`" in PAGES["api/index.md"]
    assert re.search(rf"currentmodule:: jaxgrad\n\n\.\. auto\w+:: {name}$", page, re.MULTILINE)


def test_prose_escapes_markdown():
    """`prose` escapes underscores and asterisks in text and leaves code unchanged."""
    assert prose("of __init__.py: a*b < c, `__dict__ * 2`") == (
        r"of \_\_init\_\_.py: a\*b \< c, `__dict__ * 2`"
    )


def test_a_public_name_has_one_place():
    """A name that a package exports is not listed again under the file that defines it."""
    paths = [entry.path for entry in docs_api.entries()]
    values = [id(entry.value) for entry in docs_api.entries()]

    assert len(set(paths)) == len(paths)
    assert len(set(values)) == len(values)
    assert "jaxgrad.parity.compare.compare" not in paths


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_every_case_is_on_the_page_of_its_theme(case):
    """The page of a theme shows each case with its claim, both idioms and both programs."""
    page = PAGES[f"behaviours/{case.theme}.md"]

    assert f"({case.id})=\n" in page and prose(case.claim) in page
    assert page.count(f"\ndef {case.behaviour}(") >= 2
    assert f"[{case.behaviour}](#{case.id})" in PAGES["behaviours/index.md"]


@pytest.mark.parametrize("case", DEVIATIONS, ids=lambda case: case.id)
def test_every_deviation_is_shown_with_its_reason(case):
    """Every deviation is shown with its reason and at least one value that differs."""
    section = PAGES["deviations.md"].split(f"(deviation-{case.id})=\n")[1].split("::::\n")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:2] == "| "][2:]

    assert prose(case.deviation.why.rstrip(".")) in section
    assert rows and all(row[1] != row[2] for row in rows), f"no difference is shown:\n{section}"


def test_the_page_of_deviations_agrees_with_the_readme():
    """The page names the deviations that the README counts as not run."""
    readme = (ROOT / "README.md").read_text()
    counts = re.search(r"(\d+) deviation, (\d+) not run\.", readme)
    absent = [case.id for case in DEVIATIONS if "cpu" not in case.devices]

    assert counts and int(counts[1]) + len(absent) == len(DEVIATIONS)
    assert int(counts[2]) == len(absent)
    page = PAGES["deviations.md"]
    assert f"{len(DEVIATIONS)} behaviours" in page and all(f"`{id}`" in page for id in absent)
    behaviours = (ROOT / "docs" / "behaviours.md").read_text()
    assert f"`not run`: {', '.join(f'`{id}`' for id in absent)} needs a GPU." in behaviours


def test_every_numbered_difference_is_a_convention():
    """Each numbered list under "Differs from ... in:" of a docstring is on the conventions page."""
    differing = [
        (entry, text)
        for entry in docs_api.entries()
        for line, text in re.findall(r"(Differs from \w+ in:\n) +1\. ([^\n]+)", entry.doc)
    ]

    assert differing
    for entry, text in differing:
        assert f"<{entry.path}>`" in PAGES["conventions.md"]
        shown = prose(text).replace("|", "\\|")
        assert shown in PAGES["conventions.md"], f"{entry.path}: {text}"


def test_every_link_within_the_site_has_a_target():
    """Each link `[..](#target)` has a matching label `(target)=` on some page."""
    texts = [text for name, text in PAGES.items() if name.endswith(".md")]
    targets = {name for text in texts for name in re.findall(r"^\((\S+)\)=$", text, re.MULTILINE)}
    links = {name for text in texts for name in re.findall(r"\]\(#(\S+?)\)", text)}

    assert links and links <= targets, f"no target for {links - targets}"


def test_only_exported_names_have_a_page():
    """A name that its package does not export is on no page."""
    listed = {"jaxgrad.parity.prove", "jaxgrad.parity.Report", "jaxgrad.graph.side_by_side"}
    paths = {entry.path for entry in docs_api.entries()}

    assert listed <= paths
    assert not {path for path in paths if path.startswith("jaxgrad.parity.prove.weights.map")}
    assert PAGES["api/parity.md"].index("prove") < PAGES["api/parity.md"].index("Report\n")


def test_the_picture_of_the_first_page_is_there():
    """The start page shows the README's picture, and to phones its narrow variant."""
    page = PAGES["wrong_port.md"]
    assert "{include} wrong_port.md" in (ROOT / "docs/index.md").read_text()
    (image,) = re.findall(r'<img src="(\S+)"', page)
    (narrow,) = re.findall(r'srcset="(\S+)"', page)

    assert (ROOT / "docs" / image).is_file() and (ROOT / "docs" / narrow).is_file()
    assert f'<img src="docs/{image}"' in (ROOT / "README.md").read_text()


@pytest.mark.slow
def test_every_picture_on_a_page_is_drawn():
    """The SVGs that generated pages refer to are exactly the generated pictures."""
    shown = {
        f"{name.rpartition('/')[0]}/{image}".lstrip("/")
        for name, text in PAGES.items()
        for image in re.findall(r"^!\[.+?\]\((\S+)\)$", text, re.MULTILINE)
    }
    drawn = docs_pages.pictures()

    assert len(drawn) > 1 and set(drawn) == shown
    assert all(svg.startswith("<svg") and "<title" in svg for svg in drawn.values())


def test_every_generated_page_is_ignored_by_git():
    """Generated pages are not committed, so they cannot be out of date."""
    ignored = (ROOT / "docs" / ".gitignore").read_text().split()

    for name in PAGES:
        top, _, below = name.partition("/")
        assert f"/{top}/" in ignored if below else f"/{top}" in ignored, f"docs/{name}"


# Pages that GitHub shows in another form than the site; `docs/conf.py` leaves out or rewrites them.
ELSEWHERE = {"README.md", "behaviours.md", "operators.md", "traps.md"}  # and the folder traps/
HAND_WRITTEN = [
    page for page in sorted((ROOT / "docs").glob("*.md")) if page.name not in {*ELSEWHERE, *PAGES}
]


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=lambda page: page.stem)
def test_a_hand_written_page_links_to_files_of_the_checkout_and_the_site(page, tracked):
    """The links of a page lead to tracked files on GitHub, and to pages of the site when built."""
    text = page.read_text(encoding="utf-8")

    for link in _links(text):
        assert (page.parent / link).resolve() in tracked, f"{page.name} links to {link}"
    for link in _links(docs_links.within_site(text)):
        assert link in PAGES or (ROOT / "docs" / link).is_file(), f"{page.name} links to {link}"
        outside = link.startswith("..") or link in {"behaviours.md", "operators.md"}
        assert not outside, f"{page.name} links to {link}, which the site does not have"


def test_the_readme_of_the_folder_links_to_every_page(tracked):
    """docs/README.md, which GitHub shows, leads to each page, save those that include another."""
    folder = ROOT / "docs"
    links = _links((folder / "README.md").read_text(encoding="utf-8"))
    pages = {path.name for path in tracked if path.parent == folder and path.suffix == ".md"}

    assert {(folder / link).resolve() for link in links} <= tracked
    assert pages - set(links) == {"README.md", "index.md", "changelog.md", "contributing.md"}


@pytest.fixture(scope="module")
def tracked() -> set[pathlib.Path]:
    """Return the files that git tracks, or that it will track once they are added."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return {(ROOT / name).resolve() for name in listed.stdout.splitlines()}


def _links(page: str) -> list[str]:
    """Return the relative links of a page outside of code, in markdown and in HTML."""
    text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page, flags=re.M | re.S)
    markdown_links = re.findall(r"\]\((?!\w+:|#)([^)#\s]+)", text)
    html_links = re.findall(r'(?:href|src|srcset)="(?!\w+:|#)([^"#]+)', text)
    return [*markdown_links, *html_links]


def test_every_hand_written_toctree_entry_is_a_page():
    """Each entry of the table of contents in docs/index.md is a hand-written or generated page."""
    trees = re.findall(
        r"^```{toctree}\n(.*?)^```", (ROOT / "docs/index.md").read_text(), re.M | re.S
    )
    listed = [line for tree in trees for line in tree.splitlines() if line and line[0] != ":"]

    for name in listed:
        assert f"{name}.md" in PAGES or (ROOT / "docs" / f"{name}.md").exists(), name


def test_a_verdict_is_the_one_in_the_table(monkeypatch, tmp_path):
    """A page shows the verdict of `docs/behaviours.md`, or "not run" for a case missing there."""
    first, second = list(CASES.values())[:2]
    table = markdown([first], ()).replace("not run", "identical")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "behaviours.md").write_text(table)
    monkeypatch.setattr(docs_pages, "ROOT", tmp_path)
    docs_pages.table_rows.cache_clear()
    verdicts = [docs_pages.verdict(case) for case in (first, second)]
    docs_pages.table_rows.cache_clear()

    assert verdicts == ["identical", "not run"]


@pytest.fixture
def checkout(monkeypatch, tmp_path):
    """A checkout that contains only an empty folder for notebooks."""
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setattr(docs_pages, "ROOT", tmp_path)
    return tmp_path / "notebooks"


def _book(*cells):
    return json.dumps(
        {"cells": [{"cell_type": kind, "source": text, "metadata": {}} for kind, text in cells]}
    )


def test_without_notebooks_there_is_still_a_page(checkout):
    """Without executed notebooks, the index says how to run them and lists none."""
    (checkout / "README.md").write_text("[one](one.ipynb)\n")

    assert docs_pages.notebooks() == []
    assert "make notebooks" in docs_pages.notebook_index()
    assert "one.ipynb" not in docs_pages.notebook_index()


def test_notebooks_are_in_the_order_of_their_readme(checkout):
    """Notebooks are in the order of their README, and unlisted ones come last."""
    for name in "abc":
        (checkout / f"{name}.ipynb").write_text(_book())
    (checkout / "README.md").write_text("# Notebooks\n\n[third](c.ipynb), then [first](a.ipynb)\n")

    assert [path.stem for path in docs_pages.notebooks()] == ["c", "a", "b"]
    assert docs_pages.notebook_index().endswith("c\na\nb\n```\n")


def test_the_links_of_a_notebook_are_adapted(checkout):
    """A notebook on the site links to other notebooks and the index; other links become text."""
    text = "[n](n.ipynb) [r](README.md) [s](n.py) [w](https://x.org) [h](#h) [gone](gone.ipynb)"
    page = "[c](../docs/course.md) [part](../docs/course.md#part)"
    (checkout / "n.py").write_text("")
    (checkout / "n.ipynb").write_text(_book(("markdown", text + page), ("code", "x = a[0](n.py)")))
    prose, code = json.loads(docs_pages.notebook(checkout / "n.ipynb"))["cells"]

    adapted = text.replace("README.md", "index.md").replace("[s](n.py)", "s")
    assert prose["source"] == f"{adapted}[c](../course.md) [part](../course.md#part)"
    assert code["source"] == "x = a[0](n.py)"


def test_a_badge_is_a_link_on_the_site(checkout):
    """The site fetches no picture of a badge, so the badge of a notebook becomes a text link."""
    badge = "[![Open in Colab](https://colab.org/badge.svg)](https://colab.org/n.ipynb)"
    (checkout / "n.ipynb").write_text(_book(("markdown", f"# n\n\n{badge}")))
    (cell,) = json.loads(docs_pages.notebook(checkout / "n.ipynb"))["cells"]

    assert cell["source"] == "# n\n\n[Open in Colab](https://colab.org/n.ipynb)"


def test_the_cell_that_sets_a_notebook_up_is_folded(checkout):
    """The setup cell is folded, a cell that only displays shows its output; others are shown."""
    setup, code = (
        "# Setup: this installs\nimport sys",
        "values = show('x/y').values\nprint(values)",
    )
    drawn, several = "bars = 1\nplot('title')", "show(\n    'x/y',\n    prints='a'\n)"
    shown = ("code", "show('x/y', only='a b')"), ("code", "figure('ring')"), ("code", several)
    answered = ("code", 'check("a/b", x)')
    book = _book(("code", setup), ("code", code), *shown, answered, ("code", drawn))
    (checkout / "n.ipynb").write_text(book)
    first, second, *third, checked, last = json.loads(docs_pages.notebook(checkout / "n.ipynb"))[
        "cells"
    ]

    assert first["metadata"] == {"tags": ["hide-input"]}
    assert second["metadata"] == {}
    assert [cell["metadata"] for cell in third] == [{"tags": ["remove-input"]}] * 3
    assert checked["metadata"] == {"tags": ["remove-output"]}
    assert last["metadata"] == {"tags": ["hide-input"]}


def test_a_notebook_begins_with_its_contents(checkout):
    """A notebook with several sections lists them under its title; a short one does not."""
    sections = [("markdown", f"## {title}\n\ntext") for title in ("A `b`", "c, d", "e")]
    (checkout / "n.ipynb").write_text(_book(("markdown", "# n"), *sections))
    (checkout / "short.ipynb").write_text(_book(("markdown", "# s"), sections[0]))
    cells = json.loads(docs_pages.notebook(checkout / "n.ipynb"))["cells"]

    assert cells[1]["source"] == "**On this page:** [A `b`](#a-b) · [c, d](#c-d) · [e](#e)"
    assert len(json.loads(docs_pages.notebook(checkout / "short.ipynb"))["cells"]) == 2


def test_a_folder_with_many_names_has_a_page_for_each_room():
    """`functional` has one page for each of its folders, and `optim` one for its namespaces."""
    assert "functional.clamp" not in PAGES["api/functional.md"]
    assert ".. autofunction:: clamp\n" in PAGES["api/functional.pointwise.md"]
    assert ".. autofunction:: adamw\n" in PAGES["api/optim.md"]
    assert ".. autofunction:: step_lr\n" in PAGES["api/optim.lr_scheduler.md"]
    assert "\noptim.lr_scheduler\n" in PAGES["api/optim.md"]


def test_write_touches_only_what_changed(monkeypatch, tmp_path):
    """`write` leaves unchanged pages alone and deletes files that are no longer pages."""
    monkeypatch.setattr(docs_pages, "pages", lambda: {"a.md": "one", "b/c.md": "two"})
    monkeypatch.setattr(docs_pages, "pictures", dict)
    (tmp_path / "mine.md").write_text("by hand")
    docs_pages.write(tmp_path)
    before = (tmp_path / "a.md").stat().st_mtime_ns
    (tmp_path / "b" / "stale.md").write_text("")
    (tmp_path / "b" / "c.md").write_text("old")
    docs_pages.write(tmp_path)

    assert (tmp_path / "a.md").stat().st_mtime_ns == before
    assert sorted(path.name for path in (tmp_path / "b").iterdir()) == ["c.md"]
    assert (tmp_path / "b" / "c.md").read_text() == "two"
    assert (tmp_path / "mine.md").read_text() == "by hand"
