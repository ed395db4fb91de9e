"""Draw the picture at the top of README.md and of the docs: `python -m parity_tests.site.hero`.

A phone shows a narrow variant, which merges the operations of a module into one box.
"""

from parity_tests.case import load
from parity_tests.pictures.draw_case import picture
from parity_tests.runner.settings import ROOT, configure


CASE = "grad_modes/detach"
FOLDER = ROOT / "docs" / "_static"
NARROW = 380  # pixels; a phone shrinks it to 358


def pictures() -> dict[str, str]:
    """Return the SVGs by their file names."""
    case = load()[CASE]
    return {"graph.svg": picture(case), "graph-narrow.svg": picture(case, width=NARROW)}


if __name__ == "__main__":
    configure()
    for name, svg in pictures().items():
        (FOLDER / name).write_text(svg, encoding="utf-8")
