"""Read the words of a figure, for the tests that compare them with a fresh run."""

import html
import re


def words(svg: str) -> list[str]:
    """Return the texts of a figure in their order."""
    return [html.unescape(text) for text in re.findall(r"<text[^>]*>(.*?)</text>", svg)]
