"""The pages of the site that come from code: `pages()` is their text, `write()` puts them in docs/.

| page               | from                                                                       |
|--------------------|----------------------------------------------------------------------------|
| `api/`             | every public name of `jaxgrad`, by the file it is written in               |
| `behaviours/`      | every case: its claim, both programs, and the verdict that README has      |
| `deviations.md`    | every `Deviation`, with what its pins give for the inputs of seed 0        |
| `conventions.md`   | the cases of `none_or_zero`, what docstrings number, the bounds of compare |
| `notebooks/`       | the executed notebooks, in the order of their README                       |
| `ten_lines.md`     | the first block of Python in the README                                    |
"""

import functools
import importlib
import inspect
import pathlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxgrad.parity import interop
from jaxgrad.parity.compare import (
    CONTROL_RTOL,
    FLOAT64_RTOL,
    FLOOR_ULP,
    STRUCTURAL_ZERO,
    TORCH_ERRORS,
    flatten,
)
from parity_tests import docs_api
from parity_tests.case import Case, Raises, load
from parity_tests.docs_api import boxed, code, table, toctree
from parity_tests.draw import draw
from parity_tests.report import markdown
from parity_tests.settings import ROOT
from parity_tests.show import text_of


SMALL = 6  # elements of an array that is printed whole
LEAVES = 8  # of a deviation that are printed
ABSENT = "–"
WIDE = "---\nhtml_theme.sidebar_secondary.remove: true\n---"
FORMAT: Any = {"float_kind": "{:.5g}".format}


def pages() -> dict[str, str]:
    """The text of every generated page, by its path in docs/."""
    cases = list(load().values())
    themes: dict[str, list[Case]] = {}
    for made in cases:
        themes.setdefault(made.theme, []).append(made)
    return {
        **docs_api.pages(),
        "behaviours/index.md": _behaviours(themes),
        **{f"behaviours/{theme}.md": _theme(theme, of) for theme, of in themes.items()},
        "deviations.md": _deviations(cases),
        "conventions.md": _conventions(themes),
        "notebooks/index.md": _notebooks(),
        **{f"notebooks/{path.name}": path.read_text(encoding="utf-8") for path in notebooks()},
        "ten_lines.md": _ten_lines(),
    }


def write(folder: pathlib.Path) -> None:
    """Write what changed, so that only that is built again; take away what is no page any more."""
    wanted = {folder / name: text for name, text in pages().items()}
    for path, text in wanted.items():
        path.parent.mkdir(exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for part in {path.parent for path in wanted} - {folder}:
        for path in set(part.iterdir()) - set(wanted):
            path.unlink()


def notebooks() -> list[pathlib.Path]:
    """The executed notebooks, in the order of reading that their README has."""
    folder = ROOT / "notebooks"
    readme = folder / "README.md"
    order = re.findall(r"\((\w+)\.ipynb\)", readme.read_text()) if readme.exists() else []
    found = sorted(folder.glob("*.ipynb"))
    return sorted(found, key=lambda path: [*order, path.stem].index(path.stem))


def verdict(made: Case) -> str:
    """What the runner last wrote about a case into the table of the README."""
    return {**_rows(markdown([made], ())), **_readme_rows()}[made.id][3]


@functools.cache
def _readme_rows() -> dict[str, list[str]]:
    return _rows((ROOT / "README.md").read_text())


def _rows(text: str) -> dict[str, list[str]]:
    """The rows of an idiom table by the id in their first cell."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: row for row in rows if "/" in row[0]}


# ---- behaviours


def _behaviours(themes: Mapping[str, list[Case]]) -> str:
    count = sum(map(len, themes.values()))
    parts = [
        "# Behaviours",
        f"{count} facts about gradients in PyTorch. Each is a pair of programs, the idiomatic one "
        "in torch and its functional twin in JAX; its name leads to both. The verdicts are those "
        "of the table in the README, which the runner writes and CI keeps current. They mean what "
        "[the same gradient](../conventions.md#when-two-gradients-are-the-same) says.",
    ]
    for theme, of in themes.items():
        parts += [f"## {theme}", _idioms(of)]
    return "\n\n".join([*parts, toctree(themes), ""])


def _idioms(cases: Iterable[Case]) -> str:
    rows = [[_link(made), *map(code, made.idiom), verdict(made)] for made in cases]
    return boxed("idioms", table(("behaviour", "torch", "JAX", "verdict"), rows))


def _theme(theme: str, of: list[Case]) -> str:
    module = importlib.import_module(f"parity_tests.cases.{theme}")
    parts = [WIDE, f"# {theme}", inspect.getdoc(module) or "", _idioms(of)]
    for made in of:
        facts = [f"**{verdict(made)}**", *made.source]
        if made.deviation is not None:
            facts.append(f"[why they differ](#deviation-{made.id})")
        parts += [
            f"({made.id})=\n## {made.behaviour}",
            made.claim,
            f"{' · '.join(facts)} · {code(f'python -m parity_tests {made.id}')}",
            boxed(
                "side-by-side",
                _program(f"torch · torch_ref/{theme}.py", made.reference),
                _program(f"JAX · parity_tests/cases/{theme}.py", made.fun),
            ),
        ]
    return "\n\n".join([*parts, ""])


def _program(caption: str, fun: Any) -> str:
    return f":::{{code-block}} python\n:caption: {caption}\n\n{text_of(fun)}\n:::"


def _link(made: Case) -> str:
    return f"[{made.behaviour}](#{made.id})"


# ---- deviations


def _deviations(cases: Iterable[Case]) -> str:
    pinned = [made for made in cases if made.deviation is not None]
    parts = [
        "# Deviations",
        f"The {len(pinned)} places where the frameworks are known to disagree, most of them "
        "because torch raises where a JAX program cannot express the mistake. Each is pinned on "
        "both sides: the suite fails when either side moves, and also when the two agree one day. "
        "Below, what the pins give for the inputs of seed 0, where they differ.",
    ]
    theme = ""
    for made in pinned:
        assert made.deviation is not None
        if made.theme != theme:
            theme = made.theme
            parts.append(f"## {theme}")
        parts += [
            f"(deviation-{made.id})=\n### {made.behaviour}",
            made.claim,
            f"**Why:** {made.deviation.why.rstrip('.')}.",
            boxed("pins", table(("", "torch", "JAX"), _pins(made))),
            f"{', '.join(made.source)} · [both programs](#{made.id})",
        ]
    return "\n\n".join([*parts, ""])


def _pins(made: Case) -> list[list[str]]:
    """Path, torch, JAX for each leaf of the two pins that differs."""
    assert made.deviation is not None
    inputs = interop.cast(draw(made.inputs, made.id), jnp.dtype(made.dtypes[0]))
    sides = [
        flatten(pin if isinstance(pin, Raises) else pin(**inputs))
        for pin in (made.deviation.torch_is, made.deviation.jax_is)
    ]
    paths = dict.fromkeys(path for side in sides for path in side)
    rows = [
        [code(path) if path else "the program", *(_text(side, path) for side in sides)]
        for path in paths
    ]
    apart = [row for row in rows if row[1] != row[2]]
    more = [[f"and {len(apart) - LEAVES} more", "", ""]] if len(apart) > LEAVES else []
    return [*apart[:LEAVES], *more]


def _text(side: Mapping[str, Any], path: str) -> str:
    """One leaf in a few words."""
    leaf = side.get(path, ABSENT)
    if isinstance(leaf, Raises):
        return f"raises {code(leaf.type.__name__)}: “… {leaf.words} …”"
    if not isinstance(leaf, np.ndarray | np.generic):
        return ABSENT if leaf is ABSENT else code(str(leaf))
    leaf = np.asarray(leaf)
    if leaf.size <= SMALL:
        return code(re.sub(r"\n *", " ", np.array2string(leaf, separator=", ", formatter=FORMAT)))
    shape = " × ".join(map(str, leaf.shape))
    return f"norm {code(f'{np.linalg.norm(leaf):.5g}')}, shape {shape}"


# ---- conventions


def _conventions(themes: Mapping[str, list[Case]]) -> str:
    every = [made for of in themes.values() for made in of]
    differs = [
        f"**{docs_api.link(entry)}** differs from {what} in:\n\n{text}"
        for entry in docs_api.entries()
        for what, text in entry.differs
        if text.startswith("1.")  # else it points to another helper
    ]
    own = [
        [_link(made), f"{made.tolerance.rtol:g}", made.tolerance.why]
        for made in every
        if made.tolerance is not None
    ]
    zeros = ", ".join(_link(made) for made in every if made.zeros)
    return "\n\n".join(
        [
            "# Conventions",
            "What torch means by a gradient where mathematics leaves a choice. The page is written "
            "by the code that is tested, and grows with `jaxgrad.functional`, whose functions have "
            "torch's conventions at kinks, at the edges of their domains, and in their defaults.",
            "## None, zeros, or an error",
            inspect.getdoc(importlib.import_module("parity_tests.cases.none_or_zero")) or "",
            table(
                ("", "torch", "JAX", "verdict"),
                (
                    [f"{m.claim} {_link(m)}", *map(code, m.idiom), verdict(m)]
                    for m in themes["none_or_zero"]
                ),
            ),
            "## Where a helper differs",
            "From the function of the same purpose in JAX or optax, or from torch where JAX cannot "
            "have it otherwise.",
            *differs,
            "## When two gradients are the same",
            RULES,
            "### Bounds of their own",
            table(("behaviour", "bound, of scale", "why"), own) if own else "None.",
            "### Only zeros",
            "An observation of nothing but zeros is an error, unless that is the point of the "
            f"case: {zeros}.",
            "",
        ]
    )


RULES = f"""\
Both observations are trees. Compared is their structure (`None` against an array, an exception
against a value), then the dtype of each leaf, its shape, and its value:

identical
: The same bits, or close. In float64 `close` is a largest difference of at most {FLOAT64_RTOL:g} of
  the leaf's scale. In float32 and below it is a JAX value no further from the oracle than
  {TORCH_ERRORS:g} times torch's own error, or than {FLOOR_ULP:g} ULP at leaf scale.

deviation
: The two are apart, and each is where it was pinned: see [the deviations](deviations.md).

fail, error, blind
: Anything else. `blind`: the case passes without its tool too, so it proves nothing.

The **scale** of a leaf is its largest finite magnitude on torch's side. The **oracle** is torch's
program in float64, on inputs that were first rounded to the cell's dtype. **torch's own error** is
the worst of four runs with the inputs moved by one ULP. A leaf below {STRUCTURAL_ZERO:g} of its
tree's scale is zero but for rounding, and both sides must be. A **tool** that is taken out must
change the structure, or a value by more than {CONTROL_RTOL:g} of scale.
"""


# ---- notebooks, README


def _notebooks() -> str:
    names = [path.stem for path in notebooks()]
    text = (
        "The lessons as they ran: both programs side by side, what each gave, and what changes "
        "without the tool. The sources are `notebooks/*.py`."
    )
    if not names:
        return f"# Notebooks\n\n{text} None has been run in this checkout yet.\n"
    return f"# Notebooks\n\n{text}\n\n```{{toctree}}\n" + "\n".join([*names, "```", ""])


def _ten_lines() -> str:
    found = re.search(r"^```python\n.*?^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    assert found, "README.md has no block of Python"
    return f"---\norphan: true\n---\n\n{found[0]}\n"
