"""Draw the picture at the top of README.md and of the docs: `python -m parity_tests.site.hero`.

It shows the critic of the README's first block: torch, the port, and the port with the fix. In the
ports a module has one box for the operations of the wrong port alone and one for the others. A
phone shows a narrow variant, in which all gradients of a module are one number.
"""

import re
from typing import Any

import numpy as np

from jaxgrad.graph import Setting, side_by_side
from parity_tests.runner.settings import ROOT, configure
from parity_tests.site.traps.drawing import compared


FOLDER = ROOT / "docs" / "_static"
WIDE = 850  # pixels; above that the ports would have a box for each operation
NARROW = 400  # pixels; a phone shrinks it to 358
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
        "critic.svg": side_by_side(drawn, title=TITLE, width=WIDE),
        "critic-narrow.svg": side_by_side(drawn, title=TITLE, width=NARROW),
    }


def _names(block: str) -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(block.replace("print(prove(", "((lambda *_: None)("), names)
    return names


if __name__ == "__main__":
    configure()
    for name, svg in pictures().items():
        (FOLDER / name).write_text(svg, encoding="utf-8")
