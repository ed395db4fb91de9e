"""Checks of a page in a browser: width, contrast, errors, the keyboard, and page breaks."""

import functools
import pathlib
import re
from typing import Any


WIDTHS = (390, 1280, 1600)
# The texts with too little contrast: their colour against the colours behind them, blended.
_CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = (css) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = css;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => {
    const mixed = [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3]));
    return [...mixed, 1];
  };
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) {
      layers.push(rgba(getComputedStyle(e).backgroundColor));
      if (layers.at(-1)[3] > 0.99) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const light = (color) => {
    const [r, g, b] = color.slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const bad = new Map();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode()); ) {
    const element = node.parentElement;
    if (!node.textContent.trim() || !element.checkVisibility({opacityProperty: true,
        visibilityProperty: true}) || element.closest("svg, script, style, [aria-hidden=true]")) {
      continue;
    }
    const style = getComputedStyle(element);
    const below = behind(element);
    const [a, b] = [light(over(rgba(style.color), below)), light(below)].sort((a, b) => b - a);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) {
      const path = `${element.tagName.toLowerCase()}.${element.className}`;
      const key = `${path} ${ratio.toFixed(2)}`;
      if (!bad.has(key)) bad.set(key, node.textContent.trim().slice(0, 40));
    }
  }
  return [...bad].slice(0, 8).map(([path, text]) => `${path}: ${text}`);
}"""
# What sticks out of the screen, and of no box that scrolls by itself.
_WIDER = """() => {
  const scrolls = (e) => e && (getComputedStyle(e).overflowX !== "visible" ||
    scrolls(e.parentElement === document.body ? null : e.parentElement));
  return [...document.querySelectorAll("body *")]
    .filter((e) => e.getBoundingClientRect().right > innerWidth + 1 && !scrolls(e.parentElement))
    .slice(0, 5).map((e) => `${e.tagName} ${e.className}: ${e.textContent.slice(0, 30)}`);
}"""
# Elements that a person can use, except those that are hidden or off the page's tab order. One
# button of a radio group is enough.
_WATCH = """() => {
  const usable = "a[href], button, summary, input, select, textarea, [tabindex]";
  const checks = {opacityProperty: true, visibilityProperty: true, contentVisibilityAuto: true};
  const expected = [...document.querySelectorAll(usable)].filter((e) =>
    e.tabIndex >= 0 && !e.disabled && e.checkVisibility(checks) &&
    e.getClientRects().length && !(e.type === "radio" && !e.checked));
  const text = (e) => e.textContent.trim().slice(0, 30);
  const name = (e) => `${e.tagName.toLowerCase()}.${e.className} ${text(e)}`;
  window.reached = new Set();
  window.faint = new Set();
  document.addEventListener("focusin", ({target}) => {
    window.reached.add(target);
    const style = getComputedStyle(target);
    const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    if (!outlined && style.boxShadow === "none") window.faint.add(name(target));
  });
  window.missed = () => expected.filter((e) => !window.reached.has(e) && e.isConnected).map(name);
  return expected.length;
}"""
# This script marks where the text under each heading begins and ends. Chromium writes the page of a
# mark into a PDF only if a link leads to the mark.
_MARK = """(heading) => {
  const links = document.createElement("p");
  const mark = (name) => {
    const point = document.createElement("span");
    point.id = name;
    const link = document.createElement("a");
    link.href = `#${name}`;
    link.textContent = "x";
    links.append(link, " ");
    return point;
  };
  const names = [...document.querySelectorAll(heading)].map((first, n) => {
    let last = first;
    const ends = "h1, h2, h3, h4, section, [class^=break-]";
    while (last.nextElementSibling && !last.nextElementSibling.matches(ends)) {
      last = last.nextElementSibling;
    }
    first.prepend(mark(`first-${n}`));
    last.after(mark(`last-${n}`));
    return first.textContent;
  });
  document.body.append(links);
  return names;
}"""
_MARKED = re.compile(rb"/(first|last)-(\d+) \[(\d+) 0 R /XYZ")


def divided(tab: Any, heading: str) -> list[str]:
    """Print a page; return the headings whose text does not end on the page where it begins."""
    names = tab.evaluate(_MARK, heading)
    found = _MARKED.findall(tab.pdf(prefer_css_page_size=True))
    pages = {(end, int(number)): sheet for end, number, sheet in found}
    assert len(pages) == 2 * len(names) > 0, "a mark is not in the PDF"
    return [x for n, x in enumerate(names) if pages[b"first", n] != pages[b"last", n]]


def wide(tab: Any, width: int) -> list[str]:
    """Return the elements that make a page wider than its window."""
    tab.set_viewport_size({"width": width, "height": 900})
    if tab.evaluate("document.documentElement.scrollWidth") <= width:
        return []
    return [f"{width} px: {text}" for text in tab.evaluate(_WIDER) or ["the page"]]


def low_contrast(tab: Any) -> list[str]:
    """Return the texts whose contrast is below 4.5 to 1, or 3 to 1 if they are large."""
    return tab.evaluate(_CONTRAST)


def unreached(tab: Any) -> list[str]:
    """Tab through a page; return the elements that are not reached or show no focus."""
    count = tab.evaluate(_WATCH)
    tab.evaluate("document.activeElement.blur()")
    for _ in range(count + 5):
        tab.keyboard.press("Tab")
    missed = [f"not reached: {name}" for name in tab.evaluate("window.missed()")]
    return missed + [f"no visible focus: {name}" for name in tab.evaluate("[...window.faint]")]


def problems(browser: Any, page: pathlib.Path, place: str = "") -> list[str]:
    """Return the problems of an offline page at each width and in each colour scheme."""
    found: list[str] = []
    for scheme in ("light", "dark"):
        tab = browser.new_page(color_scheme=scheme)
        listen(tab, found)
        tab.goto(page.resolve().as_uri() + place)
        found += [f"{scheme}: {text}" for text in low_contrast(tab)]
        if scheme == "light":
            found += [text for width in WIDTHS for text in wide(tab, width)]
        found += [f"{scheme}: {text}" for text in unreached(tab)]
        tab.close()
    return found


def listen(tab: Any, found: list[str]) -> None:
    """Note the errors that a page logs and the addresses that it fetches from a network."""
    tab.on("console", lambda message: message.type == "error" and found.append(message.text))
    tab.on("pageerror", lambda error: found.append(str(error)))
    tab.on("request", functools.partial(_note_address, found))


def _note_address(found: list[str], request: Any) -> None:
    if not request.url.startswith(("file:", "data:", "blob:")):
        found.append(f"fetched {request.url}")
