"""Split docs/operators.md, which GitHub shows whole, into a page for each room.

In a room the kinks come first: the rows at NaN are folded below those of their operator, and the
operators that differ only there are at the end of the page.
"""

import re

from parity_tests.site.api import toctree


CONTENTS = re.compile(r"^\*\*(\w+)\*\* (.*)$", re.MULTILINE)
TABLE = re.compile(r"(?P<form>.*:\n\n)?(?P<head>\|.*\n\| ---.*\n)(?P<rows>(?:\|.*\n)+)")
LAST = "## Operators that differ only at NaN or where one raises"
FOLDED = "<details>\n<summary>{}</summary>\n\n{}\n</details>\n"


def pages(text: str) -> dict[str, str]:
    """Return an index of the operators and a page for each room."""
    head, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    by_name = {section.splitlines()[0].removeprefix("## "): section for section in sections}
    rooms = {room: re.findall(r"\[([^\]]+)\]", names) for room, names in CONTENTS.findall(head)}
    index = CONTENTS.sub(
        lambda match: (
            f"**[{match[1]}]({match[1]}.md)** " + match[2].replace("(#", f"({match[1]}.md#")
        ),
        head,
    )
    return {
        "operators/index.md": f"{index}{toctree(rooms)}\n",
        **{
            f"operators/{room}.md": _room(room, [by_name[name] for name in names])
            for room, names in rooms.items()
        },
    }


def _room(room: str, sections: list[str]) -> str:
    """Return the page of a room, the operators with kinks first."""
    kinks = [folded(section) for section in sections if not _only_special(section)]
    rest = [section.replace("## ", "### ", 1) for section in sections if _only_special(section)]
    return "\n".join([f"# {room}\n", *kinks, *([f"{LAST}\n", *rest] if rest else [])])


def folded(section: str) -> str:
    """Return a section of an operator with its rows at NaN folded at its end."""
    special: list[str] = []

    def finite(match: re.Match[str]) -> str:
        rows = match["rows"].splitlines(keepends=True)
        kept, moved = (
            [row for row in rows if _is_special(row) is at_nan] for at_nan in (False, True)
        )
        form = match["form"] or ""
        special.extend([f"{form}{match['head']}{''.join(moved)}"] if moved else [])
        return f"{form}{match['head']}{''.join(kept)}" if kept else ""

    text = TABLE.sub(finite, section).rstrip()
    below = FOLDED.format("At NaN, or where one raises", "\n".join(special))
    return f"{text}\n\n{below}" if special else f"{text}\n"


def _only_special(section: str) -> bool:
    rows = [row for table in TABLE.finditer(section) for row in table["rows"].splitlines()]
    return bool(rows) and all(map(_is_special, rows))


def _is_special(row: str) -> bool:
    """Whether a row is about a call at NaN, or about one at which a framework raises."""
    return "nan" in row.split(" | ", maxsplit=1)[0] or " raises " in row.replace("`", " ")
