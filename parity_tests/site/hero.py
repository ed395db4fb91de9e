"""Draw the picture at the top of README.md and of the docs: `python -m parity_tests.site.hero`.

It shows the critic of the README's first block: torch, the port, and the port with the fix. In the
ports a module has one box for the operations of the wrong port alone and one for the others. The
picture is drawn for a width of 700 and shown larger, so that its text can be read on a projector. A
phone shows a narrow variant, in which all gradients of a module are one number. Beside the title of
torch's graph stands what its three kinds of lines mean.
"""

import re
from typing import Any

import numpy as np

from jaxgrad.graph import Setting, side_by_side
from parity_tests.runner.settings import ROOT, configure
from parity_tests.site.traps.drawing import compared


FOLDER = ROOT / "docs" / "_static"
WIDE = 700  # of the layout; below 670 all gradients of a module would be one number
SHOWN = 850  # pixels; the layout is enlarged to this width
NARROW = 400  # pixels; a phone shrinks it to 358
# The title of torch's graph, and the height of a line of the legend beside it.
TORCH = re.compile(r'<text x="([\d.]+)" y="([\d.]+)" class="t b">torch [^<]*</text>\n')
ROOM, LINE = 130, 15
# The classes of a line and of its head, and its meaning in torch's graph.
LINES = (
    ("w", "ah", "the gradient flows"),
    ("rec", "rec hollow", "recorded, not reached"),
    ("cut", "", "the gradient is stopped"),
)
TITLE = "The critic: torch, the wrong port and the right one"


def programs() -> tuple[dict[str, Any], dict[str, Any]]:
    """Run the README's first block as it is and with the change that the README's report suggests.

    Returns:
        The names of both programs; `prove` is replaced, so that neither is proved.
    """
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (block, *_) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    (fix,) = re.findall(r"^    \+ (.*)$", text, flags=re.MULTILINE)  # that the report suggests
    wrong = re.findall(r"^ +target = (?!.*detach).*$", block, flags=re.MULTILINE)
    fixed = block.replace(wrong[0], f"    {fix}")
    assert len(wrong) == 1 and fixed != block
    return _names(block), _names(fixed)


def rows() -> dict[str, Setting]:
    """Return the rows of the pictures: torch, the wrong port and the right one."""
    wrong, right = programs()
    state, next_state = (np.float32(wrong[name]) for name in ("state", "next_state"))
    inputs = (state, np.ones((5, 1), np.float32), next_state)
    return compared(wrong["model"], wrong["critic"], right["critic"], inputs)


def pictures() -> dict[str, str]:
    """Return the SVGs by their file names."""
    drawn = rows()
    return {
        "critic.svg": enlarged(with_lines(side_by_side(drawn, title=TITLE, width=WIDE))),
        "critic-narrow.svg": with_lines(side_by_side(drawn, title=TITLE, width=NARROW)),
    }


def with_lines(svg: str) -> str:
    """Return a picture with the meaning of the lines beside the title of torch's graph."""
    (title,) = TORCH.finditer(svg)
    x, y = float(title[1]) + ROOM, float(title[2])
    marks = []
    for n, (line, head, words) in enumerate(LINES):
        middle = y + LINE * n
        marks.append(f'<path class="{line}" d="M{x + 28:g} {middle:g}H{x + 4:g}"/>')
        if head:
            marks.append(f'<path class="{head}" d="M{x:g} {middle:g}l6-3.4v6.8z"/>')
        marks.append(f'<text x="{x + 36:g}" y="{middle + 4:g}" class="dim s">{words}</text>')
    return svg[: title.end()] + "\n".join(marks) + "\n" + svg[title.end() :]


def enlarged(svg: str) -> str:
    """Return a picture that is shown in the width `SHOWN`, with the same layout."""
    width, height = map(float, re.findall(r'<svg [^>]*?width="([\d.]+)" height="([\d.]+)"', svg)[0])
    size = f'width="{SHOWN}" height="{round(height * SHOWN / width)}"'
    return svg.replace(f'width="{width:g}" height="{height:g}"', size, 1)


def _names(block: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(block.replace("print(prove(", "((lambda *_: None)("), names)
    return names


if __name__ == "__main__":
    configure()
    for name, svg in pictures().items():
        (FOLDER / name).write_text(svg, encoding="utf-8")
