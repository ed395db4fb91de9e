"""Generate the site's pages on documented deviations and on gradient conventions."""

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
from parity_tests.site import differences
from parity_tests.site.api import boxed, code, prose, table


SMALL = 6  # elements of the largest array that is printed in full
LEAVES = 8  # leaves printed per deviation
ABSENT = "–"
FORMAT: Any = {"float_kind": "{:.5g}".format}


def link(case: Case) -> str:
    """Return a link to the section that shows both programs of a case."""
    return f"[{case.behaviour}](#{case.id})"


def deviations(cases: Iterable[Case]) -> str:
    """Return the page of deviations, each with its reason and both expected results."""
    pinned = [case for case in cases if case.deviation is not None]
    elsewhere = [code(case.id) for case in pinned if "cpu" not in case.devices]
    parts = [
        "# Deviations",
        "*The question: where do torch and JAX still disagree, and why?*",
        f"torch and JAX are known to disagree in {len(pinned)} behaviours, most often because "
        "torch raises an error for a mistake that a JAX program cannot express. The expected "
        "results of both frameworks are part of the test suite, which fails when either framework "
        "changes or when the two start to agree. The tables show the expected results that differ, "
        "for the inputs of seed 0. "
        f"The README's counts are those of a CPU, on which {', '.join(elsewhere)} is not run.",
    ]
    theme = ""
    for case in pinned:
        assert case.deviation is not None
        if case.theme != theme:
            theme = case.theme
            parts.append(f"## {theme}")
        parts += [
            f"(deviation-{case.id})=\n### {case.behaviour}",
            prose(case.claim),
            f"**Why:** {prose(case.deviation.why.rstrip('.'))}.",
            boxed("pins", table(("", "torch", "JAX"), _pins(case))),
            f"[both programs](#{case.id})",
        ]
    return "\n\n".join([*parts, ""])


def _pins(case: Case) -> list[list[str]]:
    """Return the path and both expected values of each leaf for which the pins differ."""
    assert case.deviation is not None
    inputs = interop.cast(draw(case.inputs, case.seed_name), jnp.dtype(case.dtypes[0]))
    sides = [
        flatten(pin if isinstance(pin, Raises) else pin(**inputs))
        for pin in (case.deviation.torch_is, case.deviation.jax_is)
    ]
    paths = dict.fromkeys(path for side in sides for path in side)
    rows = [
        [code(path) if path else "the program", *(_text(side, path) for side in sides)]
        for path in paths
    ]
    different = [row for row in rows if row[1] != row[2]]
    more = [[f"and {len(different) - LEAVES} more", "", ""]] if len(different) > LEAVES else []
    return [*different[:LEAVES], *more]


def _text(side: Mapping[str, Any], path: str) -> str:
    """Describe one leaf in a few words."""
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
    """Return the page on torch's gradient conventions and on the comparison's tolerances."""
    claims = [
        [f"{prose(case.claim)} {link(case)}", *map(code, case.idiom)]
        for case in cases
        if case.theme == "none_or_zero"
    ]
    own = [
        [link(case), f"{case.tolerance.rtol:g}", prose(case.tolerance.why)]
        for case in cases
        if case.tolerance is not None
    ]
    zeros = ", ".join(link(case) for case in cases if case.zeros)
    return "\n\n".join(
        [
            "# Conventions",
            "*The question: which gradient does torch choose where mathematics leaves a choice, "
            "and what else does a helper do differently from the JAX function of the same "
            "purpose?*",
            "The page is generated from the tested code. The functions of `jaxgrad.functional` "
            "follow torch's conventions at kinks, at the edges of their domains, and in their "
            "defaults. Each point says what torch does and, in parentheses, what the JAX "
            "expression does. [Operators](operators/index.md) has the measured gradients.",
            "## None, zeros, or an error",
            prose(inspect.getdoc(importlib.import_module("parity_tests.cases.none_or_zero")) or ""),
            boxed("claims", table(("", "torch", "JAX"), claims)),
            *differences.sections(docs_api.entries()),
            "## When two gradients are the same",
            RULES,
            "### Non-default tolerances",
            table(("behaviour", "tolerance, relative to scale", "why"), own) if own else "None.",
            "### Only zeros",
            f"An observation that holds only zeros is an error unless the case claims it: {zeros}.",
            "",
        ]
    )


RULES = f"""\
Both programs return a tree of results. The comparison covers the structure (`None` versus an array,
an exception versus a value), then the dtype, shape and value of each leaf:

identical
: Bit-identical, or close. In float64 `close` means that the largest difference is at most
  {FLOAT64_RTOL:g} of the leaf's scale. In float32 and below it means that JAX's distance from the
  oracle is at most {TORCH_ERRORS:g} times torch's own error, or {FLOOR_ULP:g} ULP at leaf scale.

deviation
: The results differ, and both match their documented values: see [the deviations](deviations.md).

fail, error, blind
: All other outcomes. `blind` means that the case still passes when the function under test is
  replaced by a no-op, so it proves nothing.

The **scale** of a leaf is the largest finite magnitude in torch's result. The **oracle** is torch's
program in float64, on inputs that were first rounded to the cell's dtype. **torch's own error** is
the largest error of four runs whose inputs are perturbed by one ULP. A leaf below
{STRUCTURAL_ZERO:g} of its tree's scale counts as a rounding error around zero, and must do so in
both frameworks. Replacing the function under test must change the structure, or a value by more
than {CONTROL_RTOL:g} of scale.
"""
