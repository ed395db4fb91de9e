"""Trace a program, run it once, hand back where torch's gradient is another one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core import compat
from jaxgrad._core.jaxpr import live_inputs
from jaxgrad.parity.lint.report import LintReport, Warned
from jaxgrad.parity.lint.rules import DEEP, RULES, Rule
from jaxgrad.parity.lint.walking import Seen, Walk


def lint(fn: Callable[..., Any], *args: Any) -> LintReport:
    """Where would torch give another gradient than JAX does, at these values?

    `fn` runs once, equation by equation. An equation counts if it lies between a floating point
    input and a floating point output: what is inside `stop_gradient` is silent, and so is a custom
    rule (`jax.nn.relu`, everything in `jaxgrad.functional`). Only conventions of derivatives are
    looked at; other defaults (`jnp.std` divides by N) change the output, and `prove` finds them.
    Each equation is judged alone: what follows it may make the difference vanish (a factor of 0).

    Args:
      fn: A function of trees of arrays: a loss, a model, a step.
      *args: What it is called with. Values decide: |x| is a finding at 0 and nowhere else.

    Returns:
      A report: `findings` with file:line, name stack, primitive, how many elements, both gradients
      and the remedy; `str`, `check()` and `to_json()`.

    Raises:
      TypeError: It was called under `jit`, `grad` or `vmap`, where there are no values.

    Example:
      >>> import jax.numpy as jnp
      >>> from jaxgrad.parity import lint
      >>> report = lint(lambda x: jnp.sum(jnp.abs(x)), jnp.array([0.0, 1.0, -2.0]))
      >>> finding = report.findings[0]
      >>> print(finding.primitive, finding.elements, finding.torch, finding.jax, finding.remedy)
      abs 1 0 1 jaxgrad.functional.abs
      >>> lint(lambda x: jnp.sum(jnp.abs(x)), jnp.array([1.0, -2.0])).findings
      ()

    Torch: none; its conventions are those of `jaxgrad.functional`.
    """
    leaves, treedef = jax.tree.flatten(args)
    if any(compat.is_traced(x) for x in leaves):
        raise TypeError(
            "lint looks at values, and an argument is traced, which has none; call it outside of "
            "jit, grad and vmap, on the function that is under them"
        )
    arrays = [i for i, x in enumerate(leaves) if _is_array(x)]

    def flat(*values: Any) -> list[Any]:
        full = list(leaves)
        for i, x in zip(arrays, values, strict=True):
            full[i] = x
        out = jax.tree.leaves(fn(*jax.tree.unflatten(treedef, full)))
        return [jnp.asarray(x) for x in out if _is_array(x) or isinstance(x, jax.Array)]

    values = [jnp.asarray(leaves[i]) for i in arrays]
    traced = jax.make_jaxpr(flat)(*values)
    watch = _Watch()
    Walk(watch.looks, watch.show)(traced, values)
    names = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(args)]
    found = _conjugates(traced, [names[i] for i in arrays], values)
    return LintReport((*found, *watch.findings()), watch.count)


def _is_array(x: Any) -> bool:
    return isinstance(x, jax.Array | np.ndarray | np.generic | float | complex)


class _Watch:
    """Collects what the rules say of each equation, over all turns of the loops around it."""

    def __init__(self) -> None:
        self.count = 0
        self.found: dict[tuple, Warned] = {}

    def looks(self, name: str) -> bool:
        return name in RULES

    def show(self, seen: Seen) -> None:
        if seen.library and seen.name not in DEEP:
            return
        self.count += 1
        for i, rule in enumerate(RULES[seen.name]):
            mask = rule.place(seen)
            if mask is None:
                continue
            found = self.found.setdefault((seen.path, i), _none_yet(seen, rule))
            self.found[seen.path, i] = dataclasses.replace(
                found,
                elements=found.elements + int(np.sum(mask)),
                of=found.of + int(np.size(mask)),
                turns=found.turns + bool(np.any(mask)),
            )

    def findings(self) -> list[Warned]:
        return [self.found[key] for key in sorted(self.found) if self.found[key].elements]


def _none_yet(seen: Seen, rule: Rule) -> Warned:
    place = {"line": seen.line, "name_stack": seen.stack, "primitive": seen.name}
    sides = {"where": rule.where, "torch": rule.torch, "jax": rule.jax, "remedy": rule.remedy}
    return Warned(**place, **sides, elements=0, of=0, turns=0)


def _conjugates(traced: Any, names: list[str], values: list[Any]) -> list[Warned]:
    """Complex arguments that are differentiated: JAX's gradient is the conjugate of torch's."""
    outs = [jnp.issubdtype(aval.dtype, jnp.inexact) for aval in traced.out_avals]
    live = live_inputs(traced, outs)
    return [
        Warned(
            line=f"args{name}",
            name_stack="",
            primitive="argument",
            where="that are complex",
            elements=value.size,
            of=value.size,
            turns=1,
            torch="the conjugate of JAX's",
            jax="the conjugate of torch's",
            remedy="jnp.conj(gradient) before the optimizer",
        )
        for name, value, flag in zip(names, values, live, strict=True)
        if flag and jnp.iscomplexobj(value)
    ]
