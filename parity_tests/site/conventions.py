"""The pages of the site that say where the frameworks differ, and what "the same" means."""

import importlib
import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
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
from parity_tests.case import Case, Raises
from parity_tests.inputs import draw
from parity_tests.site import api as docs_api
from parity_tests.site.api import boxed, code, prose, table


SMALL = 6  # elements of an array that is printed whole
LEAVES = 8  # of a deviation that are printed
ABSENT = "–"
FORMAT: Any = {"float_kind": "{:.5g}".format}


def link(made: Case) -> str:
    """Leads to both programs of a case."""
    return f"[{made.behaviour}](#{made.id})"


def deviations(cases: Iterable[Case]) -> str:
    """Every deviation with its reason and with both its pins."""
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
            prose(made.claim),
            f"**Why:** {prose(made.deviation.why.rstrip('.'))}.",
            boxed("pins", table(("", "torch", "JAX"), _pins(made))),
            f"[both programs](#{made.id})",
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


def conventions(cases: Sequence[Case]) -> str:
    """What torch means by a gradient, and what is meant here by the same gradient."""
    claims = [
        [f"{prose(made.claim)} {link(made)}", *map(code, made.idiom)]
        for made in cases
        if made.theme == "none_or_zero"
    ]
    differs = [
        f"**{docs_api.link(entry)}** differs from {what} in:\n\n{prose(text)}"
        for entry in docs_api.entries()
        for what, text in entry.differs
        if text.startswith("1.")  # else it points to another helper
    ]
    own = [
        [link(made), f"{made.tolerance.rtol:g}", prose(made.tolerance.why)]
        for made in cases
        if made.tolerance is not None
    ]
    zeros = ", ".join(link(made) for made in cases if made.zeros)
    return "\n\n".join(
        [
            "# Conventions",
            "What torch means by a gradient where mathematics leaves a choice. The page is written "
            "by the code that is tested, and grows with `jaxgrad.functional`, whose functions have "
            "torch's conventions at kinks, at the edges of their domains, and in their defaults.",
            "## None, zeros, or an error",
            prose(inspect.getdoc(importlib.import_module("parity_tests.cases.none_or_zero")) or ""),
            boxed("claims", table(("", "torch", "JAX"), claims)),
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
