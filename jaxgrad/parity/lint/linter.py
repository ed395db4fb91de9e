"""Trace a program, run it once, and report where torch's gradient differs."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core import argument_names, compat, paths, refusals
from jaxgrad._core.jaxpr import live_inputs
from jaxgrad._core.libraries import is_a
from jaxgrad._core.torch_versions import convention, newer_than_known, supported
from jaxgrad._core.typing import PyTree
from jaxgrad.parity.lint.report import LintReport, Warned
from jaxgrad.parity.lint.rules import DEEP, Rule, rules_of
from jaxgrad.parity.lint.walking import Visit, Walk
from jaxgrad.parity.prove.users import place_of


@argument_names.spelt
def lint(fn: Callable[..., PyTree], *args: PyTree, torch: str | None = None) -> LintReport:
    """Report where torch's gradient differs from JAX's at these values.

    `fn` runs once, equation by equation. Only equations between a floating point input and a
    floating point output are checked: not those in `stop_gradient`, and not those of a custom
    rule (such as `jax.nn.relu`). An operator of `jaxgrad.functional` is a finding where it follows
    another version of torch. Only conventions of derivatives are checked; other defaults
    (`jnp.std` divides by N) change the output, and `prove` finds them. Each equation is checked
    alone; later equations may cancel the difference (a factor of 0).

    Args:
        fn: A function of pytrees of arrays: a loss, a model, a training step; or a flax nnx or
            equinox model.
        *args: The arguments of `fn`, which may be such models too. Their values matter: `abs` is a
            finding at 0 only.
        torch: The version whose conventions are stated, such as `"2.13"`. The default is the
            installed torch, or without one the newest that jaxgrad knows.

    Returns:
        A report: each finding has `file:line`, name stack, primitive, number of elements, both
        gradients and a remedy. `str`, `check()` and `to_json()` present it.

    Raises:
        TypeError: `lint` was called under `jit`, `grad` or `vmap`, where arguments have no values,
            on a torch tensor, with a function that calls torch, or without an argument of `fn`.
        NotImplementedError: `fn` contains a primitive that runs a program jaxgrad does not know.
        ValueError: `torch` is not a version that jaxgrad knows.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxgrad.parity import lint
        >>> report = lint(lambda x: jnp.sum(jnp.abs(x)), jnp.array([0.0, 1.0, -2.0]))
        >>> finding = report.findings[0]
        >>> print(finding.primitive, finding.elements, finding.torch, finding.jax, finding.remedy)
        abs 1 0 1 jaxgrad.functional.abs
        >>> lint(lambda x: jnp.sum(jnp.abs(x)), jnp.array([1.0, -2.0])).findings
        ()

    Torch: none; its conventions are those of `jaxgrad.functional.at(torch)`.
    """
    refusals.non_function("lint", "fn", fn)
    version = supported(torch) if torch else convention()
    newer = "" if torch else newer_than_known()
    _check_arguments(fn, args)
    fn, args = _of_trees(fn, args)
    leaves, treedef = jax.tree.flatten(args)
    if any(compat.is_traced(x) for x in leaves):
        raise TypeError(
            "lint needs values, but an argument is traced; call lint outside of jit, grad and "
            "vmap, on the function that they transform"
        )
    arrays = [i for i, x in enumerate(leaves) if _is_array(x)]

    def flat(*values: Any) -> list[Any]:
        full = list(leaves)
        for i, x in zip(arrays, values, strict=True):
            full[i] = x
        with _torch_calls():
            out = jax.tree.leaves(fn(*jax.tree.unflatten(treedef, full)))
        _reject_tensors(out)
        return [jnp.asarray(x) for x in out if _is_array(x) or isinstance(x, jax.Array)]

    _reject_tensors(leaves)
    values = [jnp.asarray(leaves[i]) for i in arrays]
    traced = jax.make_jaxpr(flat)(*values)
    watch = _Watch(rules_of(version))
    Walk(watch.is_wanted, watch.show)(traced, values)
    names = [paths.of_argument(i, name) for i, x in enumerate(args) for name, _ in paths.named(x)]
    conjugates = _conjugates(traced, [names[i] for i in arrays], values)
    differentiable = sum(jnp.issubdtype(x.dtype, jnp.inexact) for x in values)
    findings = (*conjugates, *watch.findings())
    return LintReport(findings, watch.count, version, newer, differentiable)


def _of_trees(
    fn: Callable[..., PyTree], args: tuple[PyTree, ...]
) -> tuple[Callable[..., PyTree], tuple[PyTree, ...]]:
    """Return a function of trees in place of a model, or of a function of flax nnx models."""
    if not jax.tree_util.all_leaves([fn]) or _is_nnx(fn):
        return _of_trees(lambda model, *args: model(*args), (fn, *args))
    if not any(map(_is_nnx, args)):
        return fn, args
    from flax import nnx

    graphs = {i: nnx.split(x) for i, x in enumerate(args) if _is_nnx(x)}

    def run(*trees: PyTree) -> PyTree:
        return fn(*(nnx.merge(graphs[i][0], x) if i in graphs else x for i, x in enumerate(trees)))

    return run, tuple(graphs[i][1] if i in graphs else x for i, x in enumerate(args))


def _is_nnx(x: Any) -> bool:
    return is_a(x, "flax.nnx", "Module")


def _check_arguments(fn: Callable[..., PyTree], args: Sequence[PyTree]) -> None:
    """Raise if `fn` cannot be called with these arguments, such as params without the inputs."""
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):  # some functions that are written in C have none
        return
    try:
        signature.bind(*args)
    except TypeError as error:
        name = getattr(fn, "__name__", type(fn).__name__)
        given = "1 argument" if len(args) == 1 else f"{len(args)} arguments"
        raise TypeError(
            f"lint: {name}{signature} cannot be called with the {given} after it: {error}; pass "
            f"what {name} takes, as in lint({name}, params, x)"
        ) from None


def _reject_tensors(leaves: Sequence[Any]) -> None:
    """Raise if a leaf is a torch tensor, through which JAX sees nothing."""
    for x in leaves:
        if type(x).__module__.partition(".")[0] == "torch":
            raise TypeError(
                f"lint runs a JAX function on JAX arrays, but there is a torch {type(x).__name__} "
                "among its arguments or results; pass the JAX port and jnp.asarray(tensor)"
            )


@contextlib.contextmanager
def _torch_calls() -> Iterator[None]:
    """Explain torch's error about a JAX array in place of a tensor."""
    try:
        yield
    except TypeError as error:
        if "must be Tensor, not" not in str(error):
            raise
        raise TypeError(
            f"lint runs a JAX function on JAX arrays, but fn calls torch{place_of(error)} "
            f"({error}); pass the JAX port"
        ) from error


def _is_array(x: Any) -> bool:
    return isinstance(x, jax.Array | np.ndarray | np.generic | float | complex)


class _Watch:
    """Collect the findings of each equation over all iterations of its enclosing loops."""

    def __init__(self, rules: Mapping[str, tuple[Rule, ...]]) -> None:
        self.rules = rules
        self.count = 0
        self.warnings: dict[tuple, Warned] = {}

    def is_wanted(self, name: str) -> bool:
        return name in self.rules

    def show(self, visit: Visit) -> None:
        if visit.library and visit.name not in DEEP:
            return
        self.count += 1
        for i, rule in enumerate(self.rules[visit.name]):
            mask = rule.place(visit)
            if mask is None:
                continue
            warning = self.warnings.setdefault((visit.path, i), _none_yet(visit, rule))
            self.warnings[visit.path, i] = dataclasses.replace(
                warning,
                elements=warning.elements + int(np.sum(mask)),
                of=warning.of + int(np.size(mask)),
                turns=warning.turns + bool(np.any(mask)),
            )

    def findings(self) -> list[Warned]:
        ordered = (self.warnings[key] for key in sorted(self.warnings))
        return [warning for warning in ordered if warning.elements]


def _none_yet(visit: Visit, rule: Rule) -> Warned:
    # A private function is named as the public one that calls it: `functional._full_clamp` is the
    # kernel of `functional.clamp` for some versions, and `_std` is that of `jnp.std`.
    name = re.sub(r"^functional\._(?:full_|first_)?", "functional.", visit.name).lstrip("_")
    place = {"line": visit.line, "name_stack": visit.stack, "primitive": name}
    sides = {"where": rule.where, "torch": rule.torch, "jax": rule.jax, "remedy": rule.remedy}
    return Warned(**place, **sides, elements=0, of=0, turns=0)


def _conjugates(traced: Any, names: list[str], values: list[Any]) -> list[Warned]:
    """Report complex arguments, whose gradient in JAX is the conjugate of torch's."""
    outs = [jnp.issubdtype(aval.dtype, jnp.inexact) for aval in traced.out_avals]
    live = live_inputs(traced, outs)
    return [
        Warned(
            line=name,
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
