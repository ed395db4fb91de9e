"""The pages of the site that come from code: `pages()` is their text, `write()` puts them in docs/.

| page               | from                                                                       |
|--------------------|----------------------------------------------------------------------------|
| `api/`             | every public name of `jaxgrad`, by the file it is written in               |
| `behaviours/`      | every case: its claim, both programs, its verdict in `docs/behaviours.md`  |
| `deviations.md`    | every `Deviation`, with what its pins give for the inputs of seed 0        |
| `conventions.md`   | the cases of `none_or_zero`, what docstrings number, the bounds of compare |
| `notebooks/`       | the executed notebooks, in the order of their README                       |
| `ten_lines.md`     | the first block of Python in the README                                    |
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
from parity_tests.report.source_text import text_of
from parity_tests.report.text import markdown
from parity_tests.runner.settings import ROOT, configure
from parity_tests.site import api as docs_api
from parity_tests.site import conventions as docs_conventions
from parity_tests.site.api import boxed, code, prose, table, toctree
from parity_tests.site.conventions import link


SETUP = "# On Colab"  # how the first cell of a notebook begins
LINK = re.compile(r"\[([^\]]*)\]\((?!\w+:|#)([^)#\s]+)\)")  # to a file of the checkout


def pages() -> dict[str, str]:
    """The text of every generated page, by its path in docs/."""
    cases = list(load().values())
    themes: dict[str, list[Case]] = {}
    for made in cases:
        themes.setdefault(made.theme, []).append(made)
    return {
        **docs_api.pages(),
        "behaviours/index.md": _behaviours(themes),
        **{f"behaviours/{theme}.md": _theme(theme, of) for theme, of in themes.items()},
        "deviations.md": docs_conventions.deviations(cases),
        "conventions.md": docs_conventions.conventions(cases),
        "notebooks/index.md": notebook_index(),
        **{f"notebooks/{path.name}": notebook(path) for path in notebooks()},
        "ten_lines.md": _ten_lines(),
    }


def pictures() -> dict[str, str]:
    """The backward graphs on the pages, as SVG, by their path in docs/."""
    configure()
    drawn = [made for made in load().values() if made.picture]
    return {f"behaviours/{_image(made)}": picture(made) for made in drawn}


def write(folder: pathlib.Path) -> None:
    """Write what changed, so that only that is built again; take away what is no page any more."""
    wanted = {folder / name: text for name, text in {**pages(), **pictures()}.items()}
    for path, text in wanted.items():
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for part in {path.parent for path in wanted} - {folder}:
        for path in set(part.iterdir()) - set(wanted):
            path.unlink()


def notebooks() -> list[pathlib.Path]:
    """The executed notebooks, in the order of reading that their README has."""
    folder = ROOT / "notebooks"
    readme = folder / "README.md"
    order = re.findall(r"\((\w+)\.ipynb\)", readme.read_text()) if readme.exists() else []
    found = sorted(folder.glob("*.ipynb"))
    return sorted(found, key=lambda path: [*order, path.stem].index(path.stem))


def verdict(made: Case) -> str:
    """Return what the runner last wrote about a case into `docs/behaviours.md`."""
    return {**_rows(markdown([made], ())), **table_rows()}[made.id][3]


@functools.cache
def table_rows() -> dict[str, list[str]]:
    """Return the rows of `docs/behaviours.md` by the id of their case."""
    return _rows((ROOT / "docs" / "behaviours.md").read_text())


def _rows(text: str) -> dict[str, list[str]]:
    """The rows of an idiom table by the id in their first cell."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: row for row in rows if "/" in row[0]}


# ---- behaviours


def _behaviours(themes: Mapping[str, list[Case]]) -> str:
    count = sum(map(len, themes.values()))
    parts = [
        "# Behaviours",
        f"{count} facts about gradients in PyTorch. Each is a pair of programs, the idiomatic one "
        "in torch and its functional twin in JAX; its name links to both. The runner writes the "
        "verdicts, and CI keeps them current; "
        "[the same gradient](../conventions.md#when-two-gradients-are-the-same) defines them.",
    ]
    for theme, of in themes.items():
        parts += [f"## {theme}", _idioms(of)]
    return "\n\n".join([*parts, toctree(themes), ""])


def _idioms(cases: Iterable[Case]) -> str:
    rows = [[link(made), *map(code, made.idiom), verdict(made)] for made in cases]
    return boxed("idioms", table(("behaviour", "torch", "JAX", "verdict"), rows))


def _theme(theme: str, of: list[Case]) -> str:
    module = importlib.import_module(f"parity_tests.cases.{theme}")
    parts = [f"# {theme}", prose(inspect.getdoc(module) or ""), _idioms(of)]
    for made in of:
        drawn = (
            [f"![Its backward graphs, torch beside JAX]({_image(made)})"] if made.picture else []
        )
        facts = [f"**{verdict(made)}**"]
        if made.deviation is not None:
            facts.append(f"[why they differ](#deviation-{made.id})")
        parts += [
            f"({made.id})=\n## {made.behaviour}",
            prose(made.claim),
            f"{' · '.join(facts)} · {code(f'python -m parity_tests {made.id}')}",
            boxed(
                "side-by-side",
                _program(f"torch · torch_ref/{theme}.py", made.reference),
                _program(f"JAX · parity_tests/cases/{theme}.py", made.fun),
            ),
            *drawn,
        ]
    return "\n\n".join([*parts, ""])


def _image(made: Case) -> str:
    return f"{made.theme}-{made.behaviour}.svg"


def _program(caption: str, fun: Any) -> str:
    return f":::{{code-block}} python\n:caption: {caption}\n\n{text_of(fun)}\n:::"


# ---- notebooks, README


def notebook(path: pathlib.Path) -> str:
    """The copy as it is, with the cell that sets it up folded, and its links those of the site."""
    book = json.loads(path.read_text(encoding="utf-8"))
    for cell in book["cells"]:
        text = "".join(cell["source"])
        if text.startswith(SETUP):
            cell["metadata"]["tags"] = ["hide-input"]
        if cell["cell_type"] == "markdown":
            cell["source"] = LINK.sub(_within_site, text)
    return json.dumps(book, indent=1, ensure_ascii=False)


def _within_site(found: re.Match[str]) -> str:
    """A link of the notebooks' folder: notebooks are on the site, README is its index."""
    text, target = found.groups()
    if target == "README.md":
        return f"[{text}](index.md)"
    elsewhere = not target.endswith(".ipynb") and (ROOT / "notebooks" / target).exists()
    return text if elsewhere else found[0]


def notebook_index() -> str:
    """The README of the notebooks, and the list for the sidebar."""
    names = [path.stem for path in notebooks()]
    if not names:
        return "# The notebooks\n\nNone was run in this checkout: `make notebooks` runs them.\n"
    readme = ROOT / "notebooks" / "README.md"
    text = readme.read_text(encoding="utf-8") if readme.exists() else "# The notebooks\n"
    return f"{LINK.sub(_within_site, text)}\n{toctree(names)}\n"


def _ten_lines() -> str:
    found = re.search(r"^```python\n.*?^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    assert found, "README.md has no block of Python"
    return f"---\norphan: true\n---\n\n{found[0]}\n"
