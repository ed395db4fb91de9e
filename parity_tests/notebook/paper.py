"""Write the worksheet, the handout, the assessment and its key as pages that a browser prints.

A teacher without a built site opens `docs/_static/worksheet.html`. The pages have the text of those
in docs/ and the print style of docs/_static/jaxgrad.css. `make pages` writes them.
"""

import re

import markdown_it

from parity_tests.notebook import assessment, worksheet
from parity_tests.notebook.worksheet import how_to_print
from parity_tests.runner.settings import ROOT


FOLDER = ROOT / "docs" / "_static"
STYLE = FOLDER / "jaxgrad.css"
# By the name of the page: its file in docs/, and the `id` that the print style is for.
PAGES = {
    "worksheet": (worksheet.PATH, "worksheet"),
    "one_lesson_handout": (ROOT / "docs" / "one_lesson_handout.md", "handout"),
    "assessment": (assessment.PATH, "assessment"),
    "assessment_key": (assessment.KEY, "key-to-the-assessment"),
    "assessment_b": (assessment.PATH_B, "assessment-variant-b"),
    "assessment_b_key": (assessment.KEY_B, "key-to-the-assessment-variant-b"),
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
    path, identifier = PAGES[name]
    text = path.read_text(encoding="utf-8").partition("-->\n")[2]
    assert how_to_print(name) in text, f"{path}: run `make pages`"
    text = text.replace(how_to_print(name), NOTE)
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
