"""Explain wrong gradients: rerun JAX or torch with one part of the backward pass changed.

A hypothesis is a stop_gradient that JAX has and torch does not, a use through which torch stops the
gradient and JAX does not, a `detach` of torch, a convention at ties, an operator that follows
another version of torch, one of `hook_causes`, the `backward` of a custom Function, or a mistake
that the outputs do not show. It is reported only if the gradients agree after the change, on every
draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jaxgrad._core import source
from jaxgrad.parity.prove import wording
from jaxgrad.parity.prove.causes import (
    absorbed,
    functions,
    infinite_derivatives,
    straight_through,
    tied_maxima,
)
from jaxgrad.parity.prove.causes import hooks as hook_causes
from jaxgrad.parity.prove.causes.case import Case, Explanation
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.locate import backward as locate_backward
from jaxgrad.parity.prove.locate.compared import under_no_grad
from jaxgrad.parity.prove.record.jax_side import flow, gates
from jaxgrad.parity.prove.record.jax_side.flow import leaf_key
from jaxgrad.parity.prove.record.jax_side.gates import Gate
from jaxgrad.parity.prove.record.jax_side.program import Key
from jaxgrad.parity.prove.record.torch_side.values import Change, Value
from jaxgrad.parity.prove.wording import TORCH


MOST_MISTAKES = 3  # that are looked for, one after the other
_CALLS = 16  # detaches of torch that are taken out, one at a time


def explain(evidence: Evidence) -> Explanation | None:
    """Return the change that explains most of the wrong gradients of a draw, or None.

    If it does not explain all of them, the search goes on in the programs as they are with this
    change, and the further explanations are its `rest`.
    """
    first = case = Case(evidence, evidence.failed_gradient_draw or 0)
    found: list[Explanation] = []
    while case.wrong and len(found) < MOST_MISTAKES:
        chosen = _chosen(case)
        if chosen is None:
            break
        found.append(chosen)
        if not (chosen.changes or chosen.settings):
            break
        case = case.after(chosen)
    if not found:
        return None
    refused = "others still differ" if case.wrong else first.refusal(case)
    if refused:
        text = found[0].text if case.wrong else f"{found[0].text}; not confirmed, because {refused}"
        return found[0]._replace(text=text)
    found = [explanation._replace(confirmed=True) for explanation in found]
    if len(found) > 1:
        places = sum(x.places for x in found)
        found = [x._replace(repaired=_repaired(first, x), places=places) for x in found]
    chosen = found[0]._replace(rest=tuple(found[1:]))
    if case.changes:
        return chosen
    return chosen._replace(cotangents=case.gradients({}).cotangents)


def _repaired(case: Case, explanation: Explanation) -> frozenset[int]:
    """Return the values of torch whose cotangents agree after this change alone."""
    alone = case.after(explanation)
    if len(alone.run.values) != len(case.run.values):
        return frozenset()
    spots = case.evidence.spots(case.draw)
    before, after = (
        locate_backward.wrong(x.run, spots, x.gradients({}).cotangents, {}) for x in (case, alone)
    )
    return frozenset(before) - frozenset(after)


def _chosen(case: Case) -> Explanation | None:
    if case.not_finite:
        return infinite_derivatives.explain(case)
    stop = _superfluous_stops(case)
    if stop is not None and stop.complete:
        return stop
    hook = hook_causes.repeated(case)
    if hook is not None and hook.complete:
        return hook
    use, tie, version = _missing_stops(case), _ties(case), _versions(case)
    detach = _straight(case) or (_in_torch(case) if case.evidence.rerunnable else None)
    if detach is not None and use is not None and detach.fixed >= use.fixed:
        use = _paired(detach, use, case.evidence.reference)
    rules: list[Explanation | None] = []
    if case.evidence.rerunnable:
        rules = [*hook_causes.in_torch(case), functions.lost(case), tied_maxima.explain(case)]
    found = [x for x in (stop, hook, *rules, use or detach, tie, version) if x is not None]
    if not any(x.complete for x in found):
        inside = absorbed.explain(case)
        found += [] if inside is None else [inside]
    return max(found, key=lambda x: (x.complete, len(x.fixed)), default=None)


def _paired(detach: Explanation, use: Explanation, reference: str) -> Explanation:
    """Return the explanation by stops of torch, with the places where JAX has to stop."""
    use = use._replace(
        fixed=detach.fixed,
        complete=detach.complete,
        lines=detach.lines,
        stops_torch=detach.stops_torch,
    )
    if not detach.stops or len(use.through) != len(detach.through):
        return use._replace(text=detach.text, closed=(), origin=None)
    difference = wording.stop_in_torch(detach.through, detach.tested, use.through)
    return use._replace(text=difference.says(reference))


def _superfluous_stops(case: Case) -> Explanation | None:
    """Open stop_gradients of the JAX program."""
    lines = _by_line(case, case.stops)
    groups: list[Sequence[Gate]] = [*((gate,) for gate in case.stops), *lines]
    if len(case.stops) > 1:
        groups.append(case.stops)
        kept, fixed = case.best([case.stops], 1.0)
        if fixed == case.wrong:
            groups = [case.stops]  # those that are not needed are left out below
    kept, fixed = case.best(groups, 1.0)
    opened = case.needed(dict.fromkeys((gate for group in kept for gate in group), 1.0), fixed)
    if not opened:
        return None
    places = _by_calls([case.place((gate.path, 0)) for gate in opened])
    them = "it" if len(places) == 1 else "them"
    tested = f"rerunning JAX without {them}, {case.names(fixed)}"
    lines = _torch_lines(case, opened)
    text = wording.extra_stop(places[:3], lines, tested).says(case.evidence.reference)
    fix = ("stop_gradient", "")
    settings = dict.fromkeys(opened, 1.0)
    key = opened[0].path, 0
    return Explanation(
        text,
        fixed,
        fixed == case.wrong,
        key,
        fix=fix,
        settings=settings,
        lines=lines,
        places=len(places),
    )


def _by_calls(places: Sequence[str]) -> list[str]:
    """Return each line once; with the number of calls, if it is in a helper function."""
    lines: dict[str, list[str]] = {}
    for place in dict.fromkeys(places):
        lines.setdefault(place.partition(", called from ")[0], []).append(place)
    return [x[0] if len(x) == 1 else f"{line} ({len(x)} calls)" for line, x in lines.items()]


def _torch_lines(case: Case, stops: Sequence[Gate]) -> tuple[str, ...]:
    """Return torch's lines that compute what some stop_gradients of JAX stop."""
    evidence, alignment = case.evidence, case.evidence.alignments[case.draw]
    if evidence.reference == TORCH or not evidence.rerunnable:
        return ()
    values = evidence.torch_side.run(evidence.draws[case.draw], keep=True).values
    if len(values) != len(case.run.values):
        return ()
    stopped = {key for stop in stops for key in evidence.flow.parents.get((stop.path, 0), ())}
    numbers = [
        next(
            (
                i
                for i, found in enumerate(alignment.candidates)
                if {alignment.spots[k].key for k in found} & {key}
            ),
            None,
        )
        for key in stopped
    ]
    return tuple(dict.fromkeys(values[i].line for i in numbers if i is not None and values[i].line))


def _missing_stops(case: Case) -> Explanation | None:
    """Close uses of the wrong leaves, and of values that torch detaches."""
    singles = [(gate,) for gate in case.uses]
    kept, fixed = case.best(_under_no_grad(case), 0.0, enough=True)
    if fixed != case.wrong:
        kept, fixed = case.best([*_by_line(case, case.uses), *singles], 0.0)
    if not kept:
        return None
    kept = _all_uses(case, kept, fixed)
    closed = [gate for group in kept for gate in group]
    first = closed[0]  # of the group that repairs most gradients
    whole = _origin(case, closed)
    if whole is not None:
        kept, origins = [closed], [whole]
    else:
        order = case.evidence.flow.order
        kept = _by_value(case, kept, fixed)
        kept = sorted(kept, key=lambda group: order.get((group[0].path, 0), -1))
        closed = [gate for group in kept for gate in group]
        origins = [_origin(case, group) for group in kept]
    through = list(
        dict.fromkeys(
            _place_of(case, group) if origin is None else origin.line
            for group, origin in zip(kept, origins, strict=True)
        )
    )
    this = "this path" if len(through) == 1 else "these paths"
    tested = f"rerunning JAX without {this}, {case.names(fixed)}"
    no_grad = _is_under_no_grad(case, closed)
    text = wording.missing_stop(through, tested, no_grad=no_grad).says(case.evidence.reference)
    return Explanation(
        text,
        fixed,
        fixed == case.wrong,
        ((first if first in closed else closed[0]).path, 0),
        through=tuple(through),
        settings=dict.fromkeys(closed, 0.0),
        closed=_in_one_line(case, kept),
        origin=origins[0] if len(origins) == 1 else None,
    )


def _under_no_grad(case: Case) -> list[list[Gate]]:
    """Return the uses of each value that torch computes under `no_grad`, the last value first.

    They are in one place: one use, or those of a value that one line makes.
    """
    flow_, groups = case.evidence.flow, []
    for key in sorted(_keys_under_no_grad(case), key=lambda key: -flow_.order.get(key, -1)):
        uses = [g for g in case.uses if key in flow_.operands[g.path][g.operand]]
        groups += [uses] if len(uses) == 1 or (uses and _origin(case, uses)) else []
    return groups


def _all_uses(
    case: Case, groups: Sequence[Sequence[Gate]], fixed: frozenset[str]
) -> list[Sequence[Gate]]:
    """Add the other uses of a value that torch computes under `no_grad`, if one line makes it.

    No gradient flows through any of them in torch. In JAX, one that flows through a use that stays
    open may be zero up to rounding, which an optimizer does not take for none.
    """
    operands, without = case.evidence.flow.operands, _keys_under_no_grad(case)
    read = [{*operands[gate.path][gate.operand]} for group in groups for gate in group]
    values = {key for keys in read for key in keys & without}
    given = {gate for group in groups for gate in group}
    rest = [g for g in case.uses if {*operands[g.path][g.operand]} & values and g not in given]
    if not rest or _origin(case, [*given, *rest]) is None:
        return [*groups]  # no one line makes what they read
    settings = dict.fromkeys((*given, *rest), 0.0)
    seconds = case.compiling if case.gated.compiles(settings) else 0.0
    if not case.evidence.may_search(seconds=seconds):
        return [*groups]
    after = case.differing(case.rerun(settings), case.run)
    if after - (case.wrong - fixed) or not case.holds(fixed, settings):
        return [*groups]
    return [*groups, rest]


def _origin(case: Case, uses: Sequence[Gate]) -> flow.Origin | None:
    return flow.origin(case.evidence.flow, [(gate.path, gate.operand) for gate in uses])


def _by_value(
    case: Case, groups: Sequence[Sequence[Gate]], fixed: frozenset[str]
) -> list[Sequence[Gate]]:
    """Split groups whose uses read several values, without the values that are not needed."""
    operands = case.evidence.flow.operands
    found: list[Sequence[Gate]] = []
    for group in groups:
        values: dict[Sequence[Key], list[Gate]] = {}
        for gate in group:
            values.setdefault(operands[gate.path][gate.operand], []).append(gate)
        parameters = any(flow.leaf_of(key) is not None for keys in values for key in keys)
        found += [group] if parameters else values.values()
    for group in [*found] if len(found) > len(groups) else ():
        fewer = dict.fromkeys((gate for x in found if x is not group for gate in x), 0.0)
        seconds = case.compiling if case.gated.compiles(fewer) else 0.0
        if not case.evidence.may_search(seconds=seconds):
            break
        agree = fewer and not case.differing(case.rerun(fewer), case.run) & fixed
        if agree and case.holds(fixed, fewer):
            found.remove(group)
    return found


def _in_one_line(case: Case, groups: Sequence[Sequence[Gate]]) -> tuple[Gate, ...]:
    """Return the uses that close groups of one use each, if all are in one line."""
    gates_ = tuple(group[0] for group in groups)
    lines = {case.place((gate.path, 0)).partition(" ")[0] for gate in gates_}
    return gates_ if len(lines) == 1 and all(len(group) == 1 for group in groups) else ()


def _is_under_no_grad(case: Case, closed: Sequence[Gate]) -> bool:
    """Whether torch computes all values under `no_grad` that some uses in JAX read."""
    found, operands = _keys_under_no_grad(case), case.evidence.flow.operands
    return all(found & {*operands[gate.path][gate.operand]} for gate in closed)


def _keys_under_no_grad(case: Case) -> set[Key]:
    """Return the JAX values that torch computes under `no_grad`."""
    alignment = case.evidence.alignments[case.draw]
    numbers = under_no_grad(case.run)
    return {alignment.spots[k].key for i in numbers for k in alignment.candidates[i]}


def _by_line(case: Case, gates: Sequence[Gate]) -> list[tuple[Gate, ...]]:
    """Return the groups of several gates, but not of all, that share one of the user's lines."""
    lines: dict[str, list[Gate]] = {}
    for gate in gates:
        for line in flow.lines_of(case.evidence.port.program, gate.path):
            lines.setdefault(line, []).append(gate)
    groups = dict.fromkeys(tuple(dict.fromkeys(found)) for found in lines.values())
    return [group for group in groups if 1 < len(group) < len(gates)]


def _place_of(case: Case, group: Sequence[Gate]) -> str:
    """Return the place of uses of a value whose gradient has to be stopped.

    It is the line that computes them; or, if other calls of the same helper function compute the
    same with other values, the line that calls it for these uses.
    """
    program = case.evidence.port.program
    stacks = {path: flow.lines_of(program, path) for path in program.equations}
    paths = {gate.path for gate in group}
    inner = {(stacks[path][:1] or [""])[0] for path in paths}
    common = [x for x in stacks[group[0].path] if all(x in stacks[path] for path in paths)]
    others = [lines for path, lines in stacks.items() if path not in paths and inner & {*lines[:1]}]
    foreign = {line: sum(line in lines for lines in others) for line in common}
    if not common:
        return case.place((group[0].path, 0))
    best = min(common, key=lambda line: foreign[line])
    if foreign[common[0]] > foreign[best]:
        return f"the call at {best}"
    return common[0] if len(group) > 1 else case.place((group[0].path, 0))


def _in_torch(case: Case) -> Explanation | None:
    """Rerun torch without its detaches and its padding: its gradients should then be JAX's."""
    run = case.evidence.runs[case.draw]
    changed = [i for i, v in enumerate(run.values) if v.op in _CHANGES and v.call_number >= 0]
    padded = [i for i in changed if run.values[i].op == "embedding"]
    stops = [i for i in changed if i not in padded]
    together = [group for group in (stops, padded) if len(group) > 1]  # may share a weight
    groups = [*([i] for i in changed[:_CALLS]), *together]

    def change(i: int) -> Change:
        return Change(run.values[i].call_number, _CHANGES[run.values[i].op])

    best = case.best_in_torch((group, [change(i) for i in group]) for group in groups)
    if best is None:
        return None
    group, fixed = best
    for i in group if 1 < len(group) <= _CALLS else ():  # JAX may have some of the stops
        fewer = [k for k in group if k != i]
        rest = case.best_in_torch([(fewer, [change(k) for k in fewer])]) if fewer else None
        group = fewer if rest is not None and rest[1] >= fixed else group
    first, formula, places = group[0], "", []
    value = run.values[first]
    key = None
    if value.op == "embedding":
        what = wording.Mutual(
            "torch gives the embedding's padding_idx no gradient, JAX gives it one"
        )
        tested = f"rerunning torch without padding_idx, {case.names(fixed)}"
        key, remedy = _lookup(case, value), _without_row(case, first)
        text = wording.Rerun(what, tested, remedy, "; leave padding_idx out")
    else:
        places = _in_words(case, group)
        it = "it" if len(group) == 1 else "these stops"
        formula = straight_through.formula(run, first)
        jaxs = case.evidence.by_torch_name(case.evidence.jax_gradients[case.draw])
        if not formula and all(jaxs.get(name) is None for name in fixed):
            return None  # JAX, in which no path leads there, lacks no stop
        tested = f"rerunning torch without {it}, {case.names(fixed)}"
        text = (
            wording.straight_through(places, tested, formula)
            if formula
            else wording.stop_in_torch(places, tested)
        )
    changes = tuple(map(change, group))
    stops = value.op != "embedding" and not formula
    lines = tuple(dict.fromkeys(place.partition(" ")[0] for place in places if ":" in place))
    return Explanation(
        text.says(case.evidence.reference),
        fixed,
        fixed == case.wrong,
        key,
        through=tuple(places),
        changes=changes,
        stops=stops,
        tested=tested,
        lines=lines,
        stops_torch=stops,
    )


def _lookup(case: Case, value: Value) -> Key | None:
    """Return the equation of JAX that reads the rows of an embedding."""
    flow_, equations = case.evidence.flow, case.evidence.port.program.equations
    weights = case.evidence.port.weights
    todo = [leaf_key(i) for name in value.weights for i in weights.leaves_of(name)]
    while todo:
        for child in flow_.children.get(todo.pop(0), ()):
            name = equations[child[0]].primitive.name
            if name == "gather":
                return child
            if name in flow.REARRANGES:
                todo.append(child)
    return None


def _without_row(case: Case, number: int) -> str:
    """Say how a port stops the gradient of the row that torch's padding_idx names."""
    call = _with_calls(case)[number].call
    args, kwargs = (call[1], call[2]) if call is not None else ((), {})
    row = kwargs.get("padding_idx", args[2] if len(args) > 2 else None)
    if not isinstance(row, int):
        return ""
    return f"; look up rows of table.at[{row}].set(lax.stop_gradient(table[{row}]))"


def _straight(case: Case) -> Explanation | None:
    """Pass gradients straight through in JAX, as torch's `x + (y - x).detach()` does."""
    run = case.evidence.runs[case.draw]
    detaches = {gate: i for i, gates in case.straight.items() for gate in gates}
    kept, fixed = case.best([(gate,) for gate in detaches], 1.0)
    if not kept:
        return None
    passing = [gate for group in kept for gate in group]
    stops = [detaches[gate] for gate in passing]
    formulas = list(dict.fromkeys(straight_through.formula(run, i) for i in stops))
    tested = f"rerunning JAX with this change, {case.names(fixed)}"
    difference = wording.straight_through(_in_words(case, stops), tested, " and ".join(formulas))
    text = difference.says(case.evidence.reference)
    key = passing[0].path, 0
    settings = dict.fromkeys(passing, 1.0)
    return Explanation(text, fixed, fixed == case.wrong, key, settings=settings)


def _in_words(case: Case, numbers: Sequence[int]) -> list[str]:
    """Return torch's line and name of each of some values of its run."""
    known = _with_calls(case)
    names = [f"{known[i].line} {known[i].name}".strip() for i in numbers]
    return list(dict.fromkeys(names))


def _with_calls(case: Case) -> Sequence[Value]:
    """Return the values of torch's run, which have lines and calls only if torch can be rerun."""
    evidence, values = case.evidence, case.evidence.runs[case.draw].values
    if not evidence.rerunnable:
        return values
    kept = evidence.torch_side.run(evidence.draws[case.draw], keep=True).values
    return kept if len(kept) == len(values) else values


def _identity(func: Any, args: Any, kwargs: Any) -> Any:
    del func, kwargs
    return args[0].view_as(args[0])


def _without_padding(func: Any, args: Any, kwargs: Any) -> Any:
    return func(*args[:2], **{key: x for key, x in kwargs.items() if key in ("input", "weight")})


_CHANGES = {"detach": _identity, "data": _identity, "embedding": _without_padding}


def _ties(case: Case) -> Explanation | None:
    """Give ties in `max`, `min` and `abs` none of the gradient, or the whole gradient."""
    for number, torchs in ((0.0, "none"), (2.0, "all")):
        kept, fixed = case.best([(gate,) for gate in case.ties], number)
        if kept:
            key = kept[0][0].path, 0
            name = case.evidence.port.program.equations[key[0]].primitive.name
            passes = f"torch {case.version} passes {torchs} of it"
            what = wording.Mutual(
                f"the operand of abs is 0 in some elements: JAX passes the gradient there, {passes}"
                if name == "abs"
                else f"the operands of {name}imum are equal in some elements: JAX passes half of "
                f"the gradient to each, {passes} here"
            )
            remedy = f'; `jaxgrad.parity.lint(..., torch="{case.version}")` names the remedy'
            tested = f"rerunning JAX with this change, {case.names(fixed)}"
            text = wording.Rerun(what, tested, remedy).says(case.evidence.reference)
            gates_ = [gate for group in kept for gate in group]
            settings = dict.fromkeys(gates_, number)
            return Explanation(text, fixed, fixed == case.wrong, key, settings=settings)
    return None


def _versions(case: Case) -> Explanation | None:
    """Give operators of `jaxgrad.functional` the gradients of the version of torch that ran."""
    kept, fixed = case.best([(gate,) for gate in case.versions], 1.0)
    if not kept:
        return None
    operators = [gate for group in kept for gate in group]
    paths = [gate.path for gate in operators]
    equations = case.evidence.port.program.equations
    known = [x for x in (gates.changed(equations[path]) for path in paths) if x is not None]
    lines = list(dict.fromkeys(source.short_line(equations[path]) for path in paths))
    change, newer, _ = known[0]
    since = f"since torch {change.since}, {change.now}"
    then = f"before torch {change.since}, {change.before}" if newer else since
    what = wording.Mutual(
        f"jaxgrad.functional follows {'a newer' if newer else 'an older'} torch at "
        f"{' and '.join(lines[:3])} than torch {case.version}, which ran the module: {then}"
    )
    tested = f"rerunning JAX with the gradients of torch {case.version}, {case.names(fixed)}"
    remedy = f'; write `jaxgrad.functional.at("{case.version}")` there'
    text = wording.Rerun(what, tested, remedy).says(case.evidence.reference)
    settings = dict.fromkeys(operators, 1.0)
    return Explanation(text, fixed, fixed == case.wrong, (paths[0], 0), settings=settings)
