"""Write the worksheet, the handout, the assessment and its key as pages that a browser prints.

A teacher without a built site opens `docs/_static/worksheet.html`. The pages have the text of those
in docs/ and the print style of docs/_static/jaxgrad.css. `make pages` writes them.
"""

import pathlib
import re
from typing import NamedTuple

import markdown_it

from parity_tests.notebook import assessment, worksheet
from parity_tests.notebook.worksheet import how_to_print, page_break
from parity_tests.runner.settings import ROOT


FOLDER = ROOT / "docs" / "_static"
STYLE = FOLDER / "jaxgrad.css"


class Paper(NamedTuple):
    """A page to print.

    Attributes:
        path: The page in docs/.
        identifier: The `id` that the print style is for.
        section: The beginning of the title of the one section to print; by default all sections.
    """

    path: pathlib.Path
    identifier: str
    section: str = ""


KEY_STYLE = "key-to-the-assessment"
PAGES = {
    "worksheet": Paper(worksheet.PATH, "worksheet"),
    "one_lesson_handout": Paper(ROOT / "docs" / "one_lesson_handout.md", "handout"),
    "assessment": Paper(assessment.PATH, "assessment", "First test"),
    "assessment_second": Paper(assessment.PATH, "assessment", "Second test"),
    "assessment_key": Paper(assessment.KEY, KEY_STYLE, "First test"),
    "assessment_second_key": Paper(assessment.KEY, KEY_STYLE, "Second test"),
    "assessment_b": Paper(assessment.PATH_B, "assessment-variant-b"),
    "assessment_b_key": Paper(assessment.KEY_B, "key-to-the-assessment-variant-b"),
}
PRINTED = re.compile(r"/\* The worksheet and the assessment: .*?(?=\n/\* Long names)", re.DOTALL)
# A heading, with the page break before it.
HEADING = re.compile(r'(?:<div class="break-\w+"></div>\s*)?<h([2-4])>')
PAPER = re.compile(r"^@page \{.*\}$", re.MULTILINE)
SCREEN = """\
:root { --pst-color-text-muted: #555; }
body { max-width: 50em; margin: 2rem auto; padding: 0 1rem; font-family: system-ui, sans-serif; }
pre { padding: 0.6em; overflow-x: auto; border: 1px solid #999; }
@media print { body { max-width: none; margin: 0; padding: 0; } }
"""
NOTE = "*To print:* use the print dialog of the browser, which also saves the page as PDF."


def pages() -> dict[str, str]:
    """Return the text of each page by its file name."""
    return {f"{name}.html": page(name) for name in PAGES}


def page(name: str) -> str:
    """Return a page of docs/ as HTML without links, for printing."""
    path, identifier, section = PAGES[name]
    text = path.read_text(encoding="utf-8").partition("-->\n")[2]
    how = how_to_print(*(other for other, paper in PAGES.items() if paper.path == path))
    assert how in text, f"{path}: run `make pages`"
    text = only(section, text.replace(how, NOTE))
    body = markdown_it.MarkdownIt("commonmark", {"html": True}).render(text)
    body = re.sub(r"<a href=[^>]*>(.*?)</a>", r"\1", body, flags=re.DOTALL)
    body = body.replace("<pre>", '<div class="highlight"><pre>').replace("</pre>", "</pre></div>")
    (title,) = re.findall(r"<h1>(.*?)</h1>", body)
    body = sections(body)
    style = STYLE.read_text(encoding="utf-8")
    rules = "\n".join([SCREEN.strip(), *PAPER.findall(style)[:1], *PRINTED.findall(style)])
    return "\n".join(
        [
            "<!doctype html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
            '<meta name="viewport" content="width=device-width">',
            f"<style>\n{rules.strip()}\n</style></head>",
            f'<body class="bd-article"><section id="{identifier}">\n{body.strip()}',
            "</section></body></html>\n",
        ]
    )


def only(section: str, text: str) -> str:
    """Return a page with the section whose title begins so, and without the other ones.

    Example:
        >>> only("B", "# Page\\n\\n## A\\n\\na\\n\\n## B\\n\\nb\\n")
        '# Page\\n\\n## B\\n\\nb\\n'
    """
    if not section:
        return text
    head, *rest = re.split(r"^(?=## )", text.replace(page_break("right"), ""), flags=re.MULTILINE)
    (chosen,) = (part for part in rest if part.startswith(f"## {section}"))
    return head + chosen


def sections(body: str) -> str:
    """Return HTML with a `<section>` around each heading and its text, as on the site.

    The print style keeps the innermost sections, which are questions and answers, undivided.

    Example:
        >>> print(sections("<h2>A</h2><p>a</p><h3>B</h3><h2>C</h2>"))
        <section><h2>A</h2><p>a</p><section><h3>B</h3></section></section><section><h2>C</h2></section>
    """
    headings = list(HEADING.finditer(body))
    ends = [*(match.start() for match in headings[1:]), len(body)]
    parts = [body[: headings[0].start()] if headings else body]
    open_levels: list[int] = []
    for match, end in zip(headings, ends, strict=False):
        level = int(match[1])
        while open_levels and open_levels[-1] >= level:
            open_levels.pop()
            parts.append("</section>")
        open_levels.append(level)
        parts.append(f"<section>{body[match.start() : end]}")
    return "".join([*parts, *("</section>" for _ in open_levels)])


if __name__ == "__main__":
    for file, text in pages().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
