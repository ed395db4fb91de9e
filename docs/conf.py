"""The site: `make docs`. Nothing is fetched while it is built, and nothing while it is read."""

import inspect
import pathlib
import re
import sys
import textwrap
import tomllib
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx


HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(ROOT))  # parity_tests is run from the checkout, never installed

from parity_tests.operators._harness import conventions  # noqa: E402 - the path comes first
from parity_tests.site import api as docs_api  # noqa: E402 - likewise
from parity_tests.site import pages as docs_pages  # noqa: E402 - likewise


project = "jaxgrad"
author = "The jaxgrad authors"
release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = [
    "_build",  # written by the build
    "behaviours.md",  # the table as GitHub shows it; the site has a page for each theme
    "jupyter_execute",  # written by the build
]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # what was run is committed
nb_merge_streams = True
nb_code_prompt_show = "Show the {type}"
nb_code_prompt_hide = "Hide the {type}"

toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
autodoc_type_aliases = {"PyTree": "PyTree", "Unused": "Unused"}
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 80
napoleon_numpy_docstring = False
napoleon_custom_sections = [f"Differs from {what} in" for what in ("jax", "optax", "torch")]

html_theme = "sphinx_book_theme"
html_title = "jaxgrad"
html_logo = html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["jaxgrad.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_search_summary = False  # is fetched, which a browser forbids to a file
html_context = {"default_mode": "auto"}  # light or dark, as the reader has it
html_math_renderer = "mathml"
html_theme_options = {
    "logo": {"text": "jaxgrad"},
    "home_page_in_toc": True,
    "navbar_persistent": [],  # the search field is in the sidebar
    # Not beside behaviours and notebooks: two programs side by side need the room.
    "secondary_sidebar_items": {
        page: ["page-toc"]
        for page in ("api/*", "conventions", "deviations", "operators", "contributing")
    },
    "show_toc_level": 2,
    "use_download_button": False,
    "use_fullscreen_button": False,
}


PUBLIC = {
    name: entry.path
    for entry in docs_api.entries()
    for name in (entry.path.removeprefix("jaxgrad."), entry.path)
}
BACKTICKS = re.compile(r"(?<![`:])`([^`]+)`(?!`)")
BARS = re.compile(r"(?<![>`\w])(\|(?=\S)[^|`]*\S\|)(?!\w)")  # |x| is a magnitude, no substitution


def docstring(
    _app: Sphinx, _what: str, name: str, value: Any, _options: Any, lines: list[str]
) -> None:
    """Docstrings are written to be read: make of them what sphinx and napoleon read."""
    text = "\n".join(lines)
    if text.startswith("Alias for field number"):  # of a NamedTuple: says nothing
        text = ""
    own = {name.rpartition(".")[2], *(parameters(value) if callable(value) else ())}
    text, pointer, rest = text.partition(docs_api.POINTER)
    if pointer:
        text = f"{text}{rest}\n\n{measured(conventions.summary(value))}"
    text = BACKTICKS.sub(lambda found: linked(found[1], own), text)
    text = re.sub(r"^(Differs from \w+ in:) (?=\S)", r"\1\n    ", text, flags=re.MULTILINE)
    text = re.sub(r"^Torch: (.*?)(?=\n\n|\Z)", torch_box, text, flags=re.MULTILINE | re.DOTALL)
    lines[:] = [BARS.sub(r"\\\1", line) for line in text.splitlines()]


def linked(text: str, own: set[str]) -> str:
    """Code; and a link where it is a public name that is not one of the function's own."""
    path = PUBLIC.get(text)
    return f":py:obj:`{text} <{path}>`" if path and text not in own else f"``{text}``"


def parameters(value: Any) -> list[str]:
    try:
        return list(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        return []


def measured(text: str) -> str:
    """Show the summary of an operator's gradients verbatim: calls and numbers."""
    lines = textwrap.indent(text.replace("`", ""), " " * 6)
    return f".. admonition:: Its gradients\n\n   .. code-block:: none\n\n{lines}"


def torch_box(found: re.Match[str]) -> str:
    body = " ".join(found[1].split())
    return f".. admonition:: In torch\n   :class: in-torch\n\n   {body}\n"


def signature(*event: Any) -> tuple[str | None, str | None]:
    """`Callable[..., Any]` as it is written."""
    args, returns = event[-2:]
    plain = (text and text.replace("[[...], ", "[..., ") for text in (args, returns))
    return next(plain), next(plain)


def visit_math(self: Any, node: nodes.Element) -> None:
    """MathML, which browsers draw themselves: the usual renderer is fetched from a server."""
    block = isinstance(node, nodes.math_block)
    self.body.append(tex2mathml(node.astext(), as_block=block))
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
    app.connect("builder-inited", lambda _: docs_pages.write(HERE))
    app.connect("autodoc-process-docstring", docstring, priority=400)  # napoleon has 500
    app.connect("autodoc-process-signature", signature)
