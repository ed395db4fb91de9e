"""Generate pages of the site: `pages()` returns their text and `write()` writes them to docs/.

| page               | source                                                                     |
|--------------------|----------------------------------------------------------------------------|
| `api/`             | every public name of `jaxgrad`, by the file that defines it                |
| `behaviours/`      | every case: its claim, both programs, its verdict in `docs/behaviours.md`  |
| `deviations.md`    | every `Deviation`, with the results of its pins for the inputs of seed 0   |
| `conventions.md`   | the cases of `none_or_zero`, the `Differs from` lists, the tolerances      |
| `operators/`       | docs/operators.md, one page for each room of `jaxgrad.functional`          |
| `notebooks/`       | the executed notebooks, in the order of their README                       |
| `ten_lines.md`     | the helpers' example in the README                                         |
| `wrong_port.md`    | the example at the top of the README                                       |
| `*.svg`            | the cases that have a picture                                              |
"""

import functools
import importlib
import inspect
import json
import pathlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from parity_tests.case import Case, load
from parity_tests.pictures.draw_case import picture
from parity_tests.report.slug import slug
from parity_tests.report.source_text import text_of
from parity_tests.report.text import markdown
from parity_tests.runner.settings import ROOT, configure
from parity_tests.site import api as docs_api
from parity_tests.site import conventions as docs_conventions
from parity_tests.site import operators as docs_operators
from parity_tests.site.api import boxed, code, prose, table, toctree
from parity_tests.site.conventions import link


SETUP = "# Setup: "  # the first words of a notebook's setup cell
# A cell that does nothing but display something, or that ends by drawing a plot.
DISPLAY = re.compile(
    r"(show|without|graph|nodes|programs|network|question|predict|exercise|figure|plain)\("
    r"([^\n]*|\n.*\n)\)",
    re.DOTALL,
)
CHECK = "check("
PLOT = re.compile(r".*^plot\([^\n]*\)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[([^\]]*)\]\((?!\w+:|#)([^)\s]+)\)")  # a link to a file of the checkout
BADGE = re.compile(r"\[!\[([^\]]*)\]\([^)]*\)\]\(([^)]*)\)")  # a linked picture from the network


def pages() -> dict[str, str]:
    """Return the text of every generated page by its path in docs/."""
    cases = list(load().values())
    themes: dict[str, list[Case]] = {}
    for case in cases:
        themes.setdefault(case.theme, []).append(case)
    return {
        **docs_api.pages(),
        "behaviours/index.md": _behaviours(themes),
        **{f"behaviours/{theme}.md": _theme(theme, of) for theme, of in themes.items()},
        "deviations.md": docs_conventions.deviations(cases),
        "conventions.md": docs_conventions.conventions(cases),
        **docs_operators.pages((ROOT / "docs" / "operators.md").read_text(encoding="utf-8")),
        "notebooks/index.md": notebook_index(),
        **{f"notebooks/{path.name}": notebook(path) for path in notebooks()},
        "ten_lines.md": _ten_lines(),
        "wrong_port.md": _wrong_port(),
    }


def pictures() -> dict[str, str]:
    """Return the SVGs of the backward graphs by their path in docs/."""
    configure()
    drawn = [case for case in load().values() if case.picture]
    return {f"behaviours/{_image(case)}": picture(case) for case in drawn}


def write(folder: pathlib.Path) -> None:
    """Write the pages that changed, so that sphinx rebuilds only those, and delete stale pages."""
    wanted = {folder / name: text for name, text in {**pages(), **pictures()}.items()}
    for path, text in wanted.items():
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for part in {path.parent for path in wanted} - {folder}:
        for path in set(part.iterdir()) - set(wanted):
            path.unlink()


def notebooks() -> list[pathlib.Path]:
    """Return the executed notebooks in the order in which their README lists them."""
    folder = ROOT / "notebooks"
    readme = folder / "README.md"
    order = re.findall(r"\((\w+)\.ipynb\)", readme.read_text()) if readme.exists() else []
    paths = sorted(folder.glob("*.ipynb"))
    return sorted(paths, key=lambda path: [*order, path.stem].index(path.stem))


def verdict(case: Case) -> str:
    """Return the verdict that the runner last wrote for a case into `docs/behaviours.md`."""
    return {**_rows(markdown([case], ())), **table_rows()}[case.id][3]


@functools.cache
def table_rows() -> dict[str, list[str]]:
    """Return the rows of `docs/behaviours.md` by the id of their case."""
    return _rows((ROOT / "docs" / "behaviours.md").read_text())


def _rows(text: str) -> dict[str, list[str]]:
    """Return the rows of an idiom table by the id in their first cell."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: row for row in rows if "/" in row[0]}


# ---- behaviours


def _behaviours(themes: Mapping[str, list[Case]]) -> str:
    count = sum(map(len, themes.values()))
    parts = [
        "# Behaviours",
        "*The question: does JAX have torch's gradient for this piece of torch code, and how is "
        "the code written there?*",
        f"{count} facts about gradients in PyTorch. Each is proved by two programs: one in "
        "idiomatic torch, and its functional counterpart in JAX. The name of a behaviour links to "
        "both programs. The verdicts are written by the test runner and checked in CI; "
        "[their meaning](../conventions.md#when-two-gradients-are-the-same) is defined under "
        "conventions.",
    ]
    for theme, of in themes.items():
        parts += [f"## {theme}", _idioms(of)]
    return "\n\n".join([*parts, toctree(themes), ""])


def _idioms(cases: Iterable[Case]) -> str:
    rows = [[link(case), *map(code, case.idiom), verdict(case)] for case in cases]
    return boxed("idioms", table(("behaviour", "torch", "JAX", "verdict"), rows))


def _theme(theme: str, of: list[Case]) -> str:
    module = importlib.import_module(f"parity_tests.cases.{theme}")
    parts = [f"# {theme}", prose(inspect.getdoc(module) or ""), _idioms(of)]
    for case in of:
        drawn = [f"![Backward graphs in torch and in JAX]({_image(case)})"] if case.picture else []
        facts = [f"**{verdict(case)}**"]
        if case.deviation is not None:
            facts.append(f"[why they differ](#deviation-{case.id})")
        parts += [
            f"({case.id})=\n## {case.behaviour}",
            prose(case.claim),
            f"{' · '.join(facts)} · {code(f'python -m parity_tests {case.id}')}",
            boxed(
                "side-by-side",
                _program(f"torch · torch_ref/{theme}.py", case.reference),
                _program(f"JAX · parity_tests/cases/{theme}.py", case.fun),
            ),
            *drawn,
        ]
    return "\n\n".join([*parts, ""])


def _image(case: Case) -> str:
    return f"{case.theme}-{case.behaviour}.svg"


def _program(caption: str, fun: Any) -> str:
    return f":::{{code-block}} python\n:caption: {caption}\n\n{text_of(fun)}\n:::"


# ---- notebooks, README


def notebook(path: pathlib.Path) -> str:
    """Return a notebook for the site: contents added, setup and plots folded, calls hidden.

    A badge becomes a text link, because the site fetches nothing.
    """
    book = json.loads(path.read_text(encoding="utf-8"))
    for cell in book["cells"]:
        text = "".join(cell["source"])
        tags = cell["metadata"].get("tags", [])
        if text.startswith(SETUP) or (cell["cell_type"] == "code" and PLOT.fullmatch(text)):
            cell["metadata"]["tags"] = [*tags, "hide-input"]
        elif cell["cell_type"] == "code" and DISPLAY.fullmatch(text):
            cell["metadata"]["tags"] = [*tags, "remove-input"]
        elif cell["cell_type"] == "code" and text.startswith(CHECK):
            cell["metadata"]["tags"] = [*tags, "remove-output"]  # nobody has answered on the site
        if cell["cell_type"] == "markdown":
            cell["source"] = LINK.sub(_within_site, BADGE.sub(r"[\1](\2)", text))
    contents = _contents(book["cells"])
    if contents:
        cell = {"cell_type": "markdown", "id": "contents", "metadata": {}, "source": contents}
        book["cells"].insert(1, cell)
    return json.dumps(book, indent=1, ensure_ascii=False)


def _contents(cells: list[Any]) -> str:
    """Return links to the sections of a notebook, as the page has no room for a sidebar."""
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    titles = [title for text in texts for title in re.findall(r"^## (.+)$", text, re.MULTILINE)]
    links = [f"[{title}](#{slug(title)})" for title in titles]
    return f"**On this page:** {' · '.join(links)}" if len(links) > 2 else ""


def _within_site(match: re.Match[str]) -> str:
    """Adapt a link: notebooks and their README are pages of the site, other files become text."""
    text, target = match.groups()
    if target == "README.md":
        return f"[{text}](index.md)"
    if target.startswith("../docs/") and target.partition("#")[0].endswith(".md"):
        return f"[{text}](../{target.removeprefix('../docs/')})"
    elsewhere = not target.endswith(".ipynb") and (ROOT / "notebooks" / target).exists()
    return text if elsewhere else match[0]


def notebook_index() -> str:
    """Return the README of the notebooks with a table of contents for the sidebar."""
    names = [path.stem for path in notebooks()]
    if not names:
        return "# The notebooks\n\nThis checkout has no executed notebooks; run `make notebooks`.\n"
    readme = ROOT / "notebooks" / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.exists() else "# The notebooks\n"
    return f"{LINK.sub(_within_site, text)}\n{toctree(names)}\n"


def _ten_lines() -> str:
    """Return the README's block that has a line of torch beside each line of JAX."""
    blocks = re.findall(r"^```python\n.*?^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    return f"{next(block for block in blocks if '# torch:' in block)}\n"


def _wrong_port() -> str:
    """Return the README's first program, its picture, the report, and how to read the report."""
    text = (ROOT / "README.md").read_text()
    text = text[text.index("This is a critic") : text.index("[How `prove` judges]")]
    text = text.replace("[install jaxgrad](#install)", "install jaxgrad")
    return text.replace("docs/_static/", "_static/")
