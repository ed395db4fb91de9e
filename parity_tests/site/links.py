"""Adapt the links of hand-written pages, which GitHub shows from the checkout, to the site.

A page of docs/ links to files that git tracks, so that its links work on GitHub. The site has some
of them under other names: the notebooks, and pages that are generated when it is built. Others,
such as tables of `benchmarks/`, it has not: there the link becomes its text.
"""

import re


# The link that a page of docs/ has on GitHub -> the page of the site with the same content.
PAGES = {
    "../notebooks/README.md": "notebooks/index.md",
    "../README.md#the-helpers": "api/index.md",
    "../README.md#prove-your-own-port": "api/parity.md",
    "behaviours.md#deviations": "deviations.md",
    "behaviours.md": "behaviours/index.md",
    "behaviours.md#none_or_zero": "conventions.md",
    "operators.md": "operators/index.md",
}
_NOTEBOOK = re.compile(r"^\.\./(notebooks/\w+\.ipynb(?:#\S+)?)$")
_LINK = re.compile(r"(\[[^\]]*\])\(([^)\s]+)\)")


def within_site(page: str) -> str:
    """Return a page of docs/ with the links that the site needs."""
    return _LINK.sub(_adapted, page)


def _adapted(match: re.Match[str]) -> str:
    text, link = match.groups()
    notebook = _NOTEBOOK.match(link)
    if notebook:
        return f"{text}({notebook[1]})"
    if link.startswith(("../benchmarks/", "../parity_tests/")):
        return text.strip("[]")
    return f"{text}({PAGES.get(link, link)})"
