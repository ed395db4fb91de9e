"""Pairs of cells in a notebook that a reader pastes and changes: torch, JAX, and what to try.

A pair is a cell that begins with `# torch`, one that begins with `# JAX`, and one with the sentence
`# Try it: replace ... by ...`. Both print the same numbers, unless the second cell begins with
`# JAX differs`. Nothing but torch, JAX, optax and jaxgrad is needed to run them.
"""

import contextlib
import dataclasses
import io
import re
from collections.abc import Sequence

from parity_tests.notebook.check import same


TORCH, JAX, DIFFERS, TRY = "# torch", "# JAX", "# JAX differs", "# Try it: "
CHANGE = re.compile(r"(?:`([^`]+)` by `([^`]+)`|[Dd]elete `([^`]+)`)(?: in (torch|JAX)\b)?")
NUMBER = re.compile(r"(?<![\w.])-?(?:\d+\.?\d*(?:e[+-]?\d+)?|nan|inf)\b|\b(?:None|True|False)\b")
RAISES = "torch raises"  # begins a line that only torch prints


@dataclasses.dataclass(frozen=True)
class Pair:
    """Two cells that do the same, and the sentence that says what to change in them."""

    torch: str
    jax: str
    change: str = ""

    @property
    def differs(self) -> bool:
        """Whether the cells print different results on purpose."""
        return self.jax.startswith(DIFFERS)

    def changed(self) -> "Pair":
        """Return the pair after the changes that the sentence names.

        Raises:
            AssertionError: The sentence names no change, or a text that neither cell has.
        """
        texts = {"torch": self.torch, "JAX": self.jax}
        changes = [match.groups(default="") for match in CHANGE.finditer(self.change)]
        assert changes, f"no change is named in {self.change!r}"
        for old, new, gone, where in changes:
            chosen = [where] if where else list(texts)
            assert any((old or gone) in texts[name] for name in chosen), f"no {old or gone} there"
            texts |= {name: texts[name].replace(old or gone, new) for name in chosen}
        return Pair(texts["torch"], texts["JAX"])


def pairs(cells: Sequence[str]) -> list[Pair]:
    """Return the pairs among the code cells of a notebook.

    Raises:
        AssertionError: A cell of torch is not followed by one of JAX and a sentence.
    """
    found = []
    for index, cell in enumerate(cells):
        if cell.startswith(TORCH):
            jax, change = (*cells[index + 1 : index + 3], "", "")[:2]
            assert jax.startswith(JAX), f"no cell of JAX follows\n{cell}"
            assert change.startswith(TRY), f"no sentence follows\n{jax}"
            lines = change.splitlines()
            # jupytext takes a comment like "# agree?" for a question to IPython.
            assert all(line.startswith("# ") for line in lines), f"join the lines of\n{change}"
            text = " ".join(line.lstrip("# ") for line in lines)
            found.append(Pair(cell, jax, text))
    return found


def printed(code: str) -> str:
    """Run a cell by itself and return what it prints; an exception is its last line."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            exec(code, {"__name__": "cell"})
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
    return out.getvalue()


def values(text: str) -> list[str | float]:
    """Return the numbers and the words None, True, False in a text, without torch's exceptions."""
    lines = [line for line in text.splitlines() if not line.startswith(RAISES)]
    words = NUMBER.findall("\n".join(lines))
    return [word if word in ("None", "True", "False") else float(word) for word in words]


def agree(left: str, right: str) -> bool:
    """Return whether two texts have the same values in the same order, up to rounding."""
    return same(values(left), values(right))


def length(code: str) -> int:
    """Return the number of lines without imports, comments and empty lines."""
    lines = [line.strip() for line in code.splitlines()]
    return sum(bool(line) and not line.startswith(("#", "import ", "from ")) for line in lines)
