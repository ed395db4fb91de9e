"""Color Python code by inline styles, because GitHub removes style sheets from notebooks.

The code has a light background of its own, so the colors are readable on light and dark pages.
Where even inline styles are removed, the text and the marked lines remain.
"""

import html
import itertools
from collections.abc import Collection, Iterator

from pygments.lexers.python import PythonLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType


BACKGROUND, MARKED, INK = "#f6f8fa", "#fff3b0", "#1f2328"
COLORS: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "#59636e"),
    (String, "#0a3069"),
    (Number, "#0550ae"),
    (Keyword, "#b31d28"),
    (Operator.Word, "#b31d28"),
    (Name.Function, "#6639ba"),
    (Name.Class, "#6639ba"),
    (Name.Decorator, "#6639ba"),
)
_CODE = (
    f"background:{BACKGROUND};color:{INK};padding:8px;border-radius:6px;text-align:left;"
    "white-space:pre-wrap;overflow-wrap:anywhere;font-family:ui-monospace,monospace;"
    "font-size:12px;line-height:1.45;margin:0"
)


def block(code: str, marked: Collection[int] = (), *, colored: bool = True) -> str:
    """Return code as an HTML block; long lines wrap on the screen but are copied as they are.

    Args:
        code: Python source text.
        marked: The numbers of the lines to mark, from 0.
        colored: Whether to color the tokens, which makes the text about three times as long.
    """
    lines = list(_lines(code)) if colored else html.escape(code.rstrip(), quote=False).split("\n")
    for number in marked:
        # Without padding, which would cover the lines above and below.
        style = f"background:{MARKED};color:{INK};padding:0"
        lines[number] = f'<mark style="{style}"><b>{lines[number]}</b></mark>'
    return f'<pre style="{_CODE}">{chr(10).join(lines)}</pre>'


def _lines(code: str) -> Iterator[str]:
    """Yield the lines of the code with colored tokens."""
    pieces: list[tuple[str, str]] = []
    for kind, text in PythonLexer(stripnl=False, ensurenl=False).get_tokens(code):
        color = next((color for token, color in COLORS if kind in token), "")
        for index, part in enumerate(text.split("\n")):
            pieces += [("", "\n")] * (index > 0) + [(color, part)]
    for end, group in itertools.groupby(pieces, lambda piece: piece[1] == "\n"):
        if end:
            yield from [""] * (len(list(group)) - 1)
        else:
            yield "".join(_colored(color, text) for color, text in group)


def _colored(color: str, text: str) -> str:
    words = html.escape(text, quote=False)
    return f'<span style="color:{color}">{words}</span>' if color and text.strip() else words
