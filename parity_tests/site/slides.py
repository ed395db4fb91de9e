"""Write the five JAX blocks of the one lesson as slides for a projector.

    python -m parity_tests.site.slides

A slide shows a block of docs/one_lesson.md without its explanation. What it prints, with the
explanation, is folded below it. The arrow keys show the next and the previous slide. On a
narrow screen, long lines are broken. `make pages` writes
docs/_static/one_lesson_slides.html.
"""

import re
from collections.abc import Iterable
from html import escape
from typing import NamedTuple

import markdown_it

from parity_tests.runner.settings import ROOT


PLAN = ROOT / "docs" / "one_lesson.md"
PATH = ROOT / "docs" / "_static" / "one_lesson_slides.html"
TITLE = "Ten minutes of JAX"
BLOCK = re.compile(
    r"^\*\*(\d\. [^*]+)\*\*(.*?)\n\n```python\n(.*?)```\n\n```text\n(.*?)```",
    re.DOTALL | re.MULTILINE,
)
ASKED = re.compile(r"\*Ask: ([^*]+)\*")
STYLE = """\
:root { color-scheme: light dark; }
html { scroll-snap-type: y mandatory; }
body { margin: 0; font: 1.5rem/1.4 system-ui, sans-serif; }
section {
  display: flex; flex-direction: column; justify-content: center; box-sizing: border-box;
  min-height: 100vh; padding: 2vh 5vw; scroll-snap-align: start;
}
h2 { margin: 0 0 0.5em; font-size: 1.3em; }
pre { margin: 0; font-size: min(1.4rem, 2.3vw); line-height: 1.35; white-space: pre-wrap; }
p { margin: 0.6em 0; }
small { font-size: 0.6em; opacity: 0.7; }
summary { margin-top: 0.8em; cursor: pointer; }
@media (max-width: 700px) {
  html { scroll-snap-type: y proximity; }
  body { font-size: 1.1rem; }
  section { padding: 1rem; min-height: 100svh; }
  pre { overflow-wrap: anywhere; }
  section pre, section.dense pre, section.report samp { font-size: 0.85rem; }
  pre small { font-size: 0.9em; }
}"""
KEYS = """\
addEventListener("keydown", event => {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  const slides = [...document.querySelectorAll("section")];
  const at = slides.findLastIndex(slide => slide.getBoundingClientRect().top <= 1);
  slides[Math.max(0, Math.min(at + step, slides.length - 1))].scrollIntoView();
});"""
IMPORTS = re.compile(r"\A(?:(?:import|from) .*\n|\n)+(?=\S)")


class Slide(NamedTuple):
    """A block of the lesson.

    Attributes:
        title: Its number and its subject.
        asks: The question for the class, if the lesson has one.
        code: The program.
        prints: What it prints.
        because: The explanation, in Markdown.
    """

    title: str
    asks: str
    code: str
    prints: str
    because: str


def slides() -> list[Slide]:
    """Return the blocks of the section in docs/one_lesson.md."""
    _, _, text = PLAN.read_text(encoding="utf-8").partition(f"\n## {TITLE}\n")
    return [
        Slide(
            title.rstrip("."),
            " ".join(asked[:1].upper() + asked[1:] for asked in ASKED.findall(words)),
            code,
            prints,
            " ".join(f"{_subject(title)}{ASKED.sub('', words)}".split()),
        )
        for title, words, code, prints in BLOCK.findall(text)
    ]


def _subject(title: str) -> str:
    """Return a title without its number, if the sentence after it has no subject of its own."""
    return "" if title.endswith(".") else title.partition(" ")[2]


def page() -> str:
    """Return the slides as one offline page."""
    return document(TITLE, map(_section, slides()))


def document(title: str, sections: Iterable[str], style: str = STYLE) -> str:
    """Return one offline page whose sections are slides."""
    return "\n".join(
        [
            "<!doctype html>",
            f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title>',
            '<meta name="viewport" content="width=device-width">',
            f"<style>\n{style}\n</style></head><body>",
            *sections,
            f"<script>\n{KEYS}\n</script>",
            "</body></html>\n",
        ]
    )


def program(code: str, before: str = "") -> str:
    """Return a program as HTML, with small imports, below what was defined before."""
    text = IMPORTS.sub(r"<small>\g<0></small>", escape(code, quote=False))
    above = escape(before, quote=False)
    above = f'<small class="before"># from an earlier slide\n{above}\n\n</small>' if before else ""
    return f"<pre><code>{above}{text}</code></pre>"


def _section(slide: Slide) -> str:
    inline = markdown_it.MarkdownIt().renderInline
    return "\n".join(
        [
            f"<section><h2>{inline(slide.title)}</h2>",
            program(slide.code),
            f"<p><b>{inline(' '.join(slide.asks.split()) or 'What does it print?')}</b></p>",
            "<details><summary>It prints</summary>",
            f"<pre><samp>{escape(slide.prints, quote=False)}</samp></pre>",
            f"<p>{inline(slide.because)}</p></details></section>",
        ]
    )


if __name__ == "__main__":
    PATH.write_text(page(), encoding="utf-8")
