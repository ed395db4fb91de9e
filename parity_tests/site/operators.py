"""Split docs/operators.md, which GitHub shows whole, into a page for each room."""

import re

from parity_tests.site.api import toctree


CONTENTS = re.compile(r"^\*\*(\w+)\*\* (.*)$", re.MULTILINE)


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
            f"operators/{room}.md": "\n".join([f"# {room}\n", *(by_name[name] for name in names)])
            for room, names in rooms.items()
        },
    }
