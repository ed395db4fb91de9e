"""Prove a suggested edit: compile the port's source with it, and compare the port with torch again.

An edit is printed only if the edited source can be compiled and the port then agrees, or differs
only later or in fewer gradients.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import gc
import linecache
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import jax

from jaxgrad.parity.prove.edits import Edit
from jaxgrad.parity.prove.evidence import Evidence, rerun
from jaxgrad.parity.prove.locate import forward as locate_forward
from jaxgrad.parity.prove.report import Finding, Judgement
from jaxgrad.parity.prove.request import Request
from jaxgrad.parity.prove.wording import TORCH


View = Callable[[Evidence], Evidence | None]
Differing = Callable[[Evidence, Request], str]


def proved(
    evidence: Evidence,
    request: Request,
    judgement: Judgement,
    view: View | None = None,
    differing: Differing | None = None,
) -> Judgement:
    """Return a judgement without the suggested edits that do not mend what they are printed for.

    Args:
        evidence: All runs.
        request: The arguments of the proof.
        judgement: The judgement.
        view: Function from the evidence after an edit to the evidence with whose outputs a wrong
            update was located.
        differing: Function that names the first inputs of `also=` on which the programs differ.
    """
    kept: dict[Edit, Edit | None] = {}
    further: dict[Edit, str] = {}  # the inputs of `also=` on which the programs differ after it

    def checked(finding: Finding) -> Finding:
        edit = finding.edit
        if edit is None:
            return finding
        if edit not in kept:
            kept[edit] = None
            if evidence.may_search("the suggested change"):
                mending = functools.partial(_mending, evidence, request, finding, edit, view)
                kept[edit] = evidence.locate(mending, None)[0]
        proved = kept[edit]
        if proved is not None and proved.complete and request.also and differing is not None:
            if edit not in further:
                compare = functools.partial(_further, evidence, request, edit, differing)
                further[edit] = evidence.locate(compare, "")[0]
            if name := further[edit]:
                cause = (
                    f"{finding.cause}; not confirmed, because the programs then differ on {name}"
                )
                return dataclasses.replace(finding, edit=None, tested=False, cause=cause)
        return dataclasses.replace(finding, edit=proved)

    surface = judgement.surface
    if not any(finding.edit for finding in surface.findings):
        return judgement
    findings = tuple(map(checked, surface.findings))
    return judgement._replace(surface=dataclasses.replace(surface, findings=findings))


def without_edits(judgement: Judgement) -> Judgement:
    """Return a judgement without its suggested edits, which there was no time to prove."""
    surface = judgement.surface
    findings = tuple(dataclasses.replace(finding, edit=None) for finding in surface.findings)
    return judgement._replace(surface=dataclasses.replace(surface, findings=findings))


def _mending(
    evidence: Evidence, request: Request, finding: Finding, edit: Edit, view: View | None
) -> Edit | None:
    """Return an edit with `complete` set by a new proof, or None if the edit mends nothing.

    An edit that is not complete is at one of several places that a tested cause changes.
    """
    in_jax = evidence.reference == TORCH
    forward = finding.surface in ("forward", "updates")
    before = Wrong(set(), set()) if forward else _wrong(evidence)
    with applied(edit, traced=in_jax) as compiled:
        if not compiled:
            return None
        new = rerun(evidence, request) if in_jax else evidence.rerun_torch()
        new = new if view is None else view(new)
        if new is None:
            return None
        if forward:  # judging may run torch again
            complete = new.failed_output_draw is None
            mends = complete or _is_later(new, finding)
        else:
            wrong = _wrong(new)
            complete = not (wrong.names or evidence.made)  # those of the forward pass remain
            mends = wrong.is_less_than(before, edit.complete)
    return dataclasses.replace(edit, complete=complete) if mends else None


def _further(evidence: Evidence, request: Request, edit: Edit, differing: Differing) -> str:
    """Return the inputs of `also=` on which the programs differ after an edit, or an empty text."""
    if evidence.reference != TORCH or not evidence.rerunnable:
        return ""
    with applied(edit, traced=True) as compiled:
        return differing(evidence, request) if compiled else ""


class Wrong(NamedTuple):
    """The gradients that differ on a draw."""

    values: set[str]  # their names, if both programs have them
    missing: set[str]  # those that only one program has

    @property
    def names(self) -> set[str]:
        """The names of all of them."""
        return self.values | self.missing

    def is_less_than(self, before: Wrong, alone: bool) -> bool:
        """Whether fewer differ after an edit, or some that only one program had are now in both.

        If the edit is not `alone`, as many may differ until the others are made.
        """
        fewer = self.names < before.names or self.missing < before.missing or not alone
        return fewer and self.names <= before.names


def _wrong(evidence: Evidence) -> Wrong:
    judged = evidence.judged_gradients
    values = {j.name for each in judged for j in each if j.verdict == "fail"}
    run = evidence.runs[0]
    if not run.has_gradients:
        run = evidence.torch_side.run(evidence.draws[0])
    one_sided = evidence.one_sided(run) - {*evidence.untrained}
    missing = {x for x in one_sided if evidence.port.weights.leaves_of(x)}
    return Wrong(values - missing, missing)


def _is_later(evidence: Evidence, finding: Finding) -> bool:
    """Whether the first torch value that JAX does not compute comes after that of a finding."""
    draw = evidence.failed_output_draw or 0
    run, alignment = evidence.runs[draw], evidence.alignments[draw]
    module = "" if finding.torch == locate_forward.ROOT else finding.torch
    named = [i for i, v in enumerate(run.values) if (v.module, v.op) == (module, finding.op)]
    ends = [i for i in run.output_values if i is not None and not alignment.visible(i)]
    lost = locate_forward.lost_in_torch(run, alignment, ends)
    return bool(named and lost) and not set(named) & set(lost)


class Body(NamedTuple):
    """What a `def` statement or a lambda gives to a function."""

    code: types.CodeType
    defaults: tuple[Any, ...] | None
    named: dict[str, Any] | None  # defaults of arguments that only a name can pass


@contextlib.contextmanager
def applied(edit: Edit, *, traced: bool = True) -> Iterator[bool]:
    """Run the functions of a file with an edit in a `with` block; False if that is impossible.

    If they are `traced`, what JAX keeps of traced functions is forgotten before and after.
    """
    lines = linecache.getlines(edit.file)
    changed = [*lines[: edit.line - 1], f"{edit.new}\n", *lines[edit.line :]]
    try:
        old, new = (_definitions("".join(x), edit.file) for x in (lines, changed))
    except (SyntaxError, ValueError):
        yield False
        return
    before = {f: Body(f.__code__, f.__defaults__, f.__kwdefaults__) for f in _functions(edit.file)}
    pairs = list(zip(old, new, strict=False)) if len(old) == len(new) else []
    after = {
        f: body for f in before for a, b in pairs
        if _alike(f.__code__, a.code) and (body := _changed(f, a, b)) not in (None, before[f])
    }  # fmt: skip
    _replace(after, traced=traced)
    try:
        yield bool(after)
    finally:
        _replace({f: before[f] for f in after}, traced=traced)


def _alike(a: types.CodeType, b: types.CodeType) -> bool:
    """Whether two codes are those of one function, whatever flags the file was compiled with.

    The instructions may differ: Python calls `jnp.exp` otherwise if the import of `jnp` is in the
    compiled text.
    """
    return _described(a) == _described(b)


def _described(code: types.CodeType) -> tuple[object, ...]:
    """Return the name, the names in it, the constants and the lines of a code."""
    constants = [repr(x) for x in code.co_consts if not isinstance(x, types.CodeType)]
    lines = {line for *_, line in code.co_lines()}
    return (
        *(code.co_qualname, code.co_firstlineno, code.co_varnames),
        *(sorted(code.co_names), sorted(constants), lines),
    )


def _changed(function: types.FunctionType, old: Definition, new: Definition) -> Body | None:
    """Return the new body of a function; None if the edit changes the variables around it."""
    if old.code.co_freevars != new.code.co_freevars or len(old.defaults) != len(new.defaults):
        return None
    given = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    if len(given) != len(old.defaults):
        return None
    values = [
        x if ast.dump(a) == ast.dump(b) else _evaluated(b, function)
        for x, a, b in zip(given, old.defaults, new.defaults, strict=True)
    ]
    count = len(function.__defaults__ or ())
    named = dict(zip(function.__kwdefaults__ or {}, values[count:], strict=True))
    return Body(new.code, tuple(values[:count]) or None, named or None)


def _evaluated(node: ast.expr, function: types.FunctionType) -> Any:
    return eval(compile(ast.Expression(node), "<edit>", "eval"), function.__globals__)


def _replace(bodies: Mapping[types.FunctionType, Body], *, traced: bool) -> None:
    for function, body in bodies.items():
        function.__code__, function.__defaults__, function.__kwdefaults__ = body
    if bodies and traced:
        jax.clear_caches()  # a jitted function is traced once, whatever its code is now


class Definition(NamedTuple):
    """A function in a file."""

    code: types.CodeType
    defaults: tuple[ast.expr, ...]


def _definitions(text: str, file: str) -> list[Definition]:
    """Return the functions of a file."""
    tree = ast.parse(text)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    defaults: dict[tuple[int, str], tuple[ast.expr, ...]] = {}
    for node in ast.walk(tree):
        if isinstance(node, kinds):
            name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
            decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
            line = min([node.lineno, *(x.lineno for x in decorators)])
            named = (x for x in node.args.kw_defaults if x is not None)
            defaults[line, name] = (*node.args.defaults, *named)
    codes = _codes(compile(text, file, "exec", dont_inherit=True))
    return [Definition(c, defaults.get((c.co_firstlineno, c.co_name), ())) for c in codes]


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Yield the code of all functions in a file, in the order of the file."""
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _codes(constant)


def _functions(file: str) -> list[types.FunctionType]:
    """Return the functions that were defined in a file and are alive."""
    alive = (x for x in gc.get_objects() if type(x) is types.FunctionType)
    return [f for f in alive if f.__code__.co_filename == file]
