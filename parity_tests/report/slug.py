"""Name the anchor of a heading, for links within a page."""

import re


def slug(title: str) -> str:
    """Return the anchor of a heading, as GitHub and myst write it."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
