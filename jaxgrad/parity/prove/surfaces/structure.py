"""The structure surface: which weights are trained, tied or frozen in each framework."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from jaxgrad.parity.prove.causes.case import Explanation
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.locate import quotes
from jaxgrad.parity.prove.record.jax_side.flow import leaf_key, place
from jaxgrad.parity.prove.record.jax_side.port import Port
from jaxgrad.parity.prove.record.jax_side.program import Key
from jaxgrad.parity.prove.report import Finding, Judgement, Surface
from jaxgrad.parity.prove.text import counted
from jaxgrad.parity.prove.wording import NO_DIFFERENCE, Difference, Mutual, Told


_FROZEN = Told(
    "if your training step freezes the leaf, list the trained leaves in trainable=; or else put a "
    "stop_gradient around the leaf",
    "requires_grad is False only in torch; or, if your training step in JAX freezes the leaf, list "
    "the trained leaves in trainable=",
)
_NOT_TRAINED = Told(
    "hold the leaf as a parameter, or list the trained leaves in trainable=",
    "set requires_grad to False in torch, or list the trained leaves in trainable=",
)
_DETACHED = Told(
    "a stop_gradient is missing where torch detaches", "torch detaches what JAX does not stop"
)
_UNTIED = Told(
    "each leaf receives only a part of the gradient, so the leaves diverge in training "
    "(under gradients, the sum of the parts is compared)",
    "torch's parameter receives the whole gradient, of which each leaf in JAX receives a part",
)
_MISSING = Told(
    "params lacks a leaf or has other values; pass weights= if the values are transformed",
    "the parameter is extra, or params has other values; pass weights= if the values are "
    "transformed",
)


def surface(evidence: Evidence, *, has_optimizer: bool = False) -> Judgement:
    """Judge whether the same weights are trained, have a gradient and are tied.

    An optimizer trains every leaf unless `trainable=` selects some.
    """
    port, flags, run = evidence.port, evidence.torch_side.flags, evidence.runs[0]
    findings: list[Finding] = []
    missing = []
    for name in flags:
        if port.weights.leaves_of(name):
            findings += [*_training(evidence, name), *_untied(evidence, name)]
        elif run.grads[name] is None:
            continue  # torch does not use it: nn.TransformerEncoder copies the layer that it gets
        elif (other := port.weights.copy_of(name)) is not None:
            text = f"torch has two parameters ({other}, {name}), but JAX has one leaf for both"
            findings.append(_finding(evidence, name, port.weights.place_of(other), text))
        elif np.any(run.grads[name]):
            missing.append(name)
    findings += _trained_buffers(evidence, has_optimizer)
    if evidence.failed_output_draw is None:  # otherwise they differ because of the missing weight
        findings += [_missing(evidence, name) for name in missing]
    notes = () if has_optimizer else _zeros(evidence)
    if missing:
        notes = (f"no JAX leaf holds {', '.join(missing[:4])}, which torch trains", *notes)
    text = counted(len(flags), "parameter")
    without_gradient = sum(run.grads[name] is None for name in flags)
    if without_gradient:
        text += f", {without_gradient} without a gradient"
    guessed = len({p.name for p in port.weights.pieces if p.guessed})
    if guessed:
        text += f"; {counted(guessed, 'constant tensor')} paired by name"
    if not findings:
        return Judgement(Surface("structure", "pass", text), notes)
    text = f"{counted(len(findings), 'difference')} in {text}"
    return Judgement(Surface("structure", "fail", text, findings=tuple(findings)), notes)


def _zeros(evidence: Evidence) -> tuple[str, ...]:
    """Return notes on the parameters whose gradient is zero in one framework and None in the other.

    Without weight decay and momentum they train alike.
    """
    port, found = evidence.port, {"torch": [], "JAX": []}
    for name, gradient in evidence.runs[0].grads.items():
        leaves = port.weights.leaves_of(name)
        reached = any(port.reachable[i] for i in leaves)
        selected = evidence.trained is None or any(evidence.trained[i] for i in leaves)
        if not (leaves and selected and evidence.torch_side.flags.get(name)):
            continue
        if gradient is None and reached and _is_zero(evidence, name):
            found["JAX"].append(name)
        elif gradient is not None and not reached and not np.any(gradient):
            found["torch"].append(name)
    return tuple(
        f"the gradient of {', '.join(names[:3])}{_more(names)} is 0 in {has} and None in {lacks}: "
        "with weight decay or momentum an optimizer changes it in one program only; give "
        "optimizer= to compare this"
        for (has, names), lacks in zip(found.items(), ("JAX", "torch"), strict=True)
        if names
    )


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - 3} more" if len(names) > 3 else ""


def explained(judgement: Judgement, evidence: Evidence, why: Explanation | None) -> Judgement:
    """Name the tested causes in the findings that they explain.

    A frozen parameter keeps its own cause, unless one stop is enough: several at its uses are not
    what torch does. The suggested change has to show that it stops no gradient that torch has
    (`without_refused`).
    """
    known = () if why is None else (why, *why.rest)
    trained = evidence.torch_side.flags

    def with_cause(finding: Finding) -> Finding:
        cause = next((each for each in known if finding.torch in each.fixed), None)
        frozen = not trained.get(finding.torch, True)
        if cause is None or (frozen and len(cause.through) != 1):
            return finding
        changed = dataclasses.replace(finding, cause=cause.text, tested=cause.confirmed)
        return quotes.explained(evidence, changed, cause)

    findings = tuple(map(with_cause, judgement.surface.findings))
    return judgement._replace(surface=dataclasses.replace(judgement.surface, findings=findings))


def without_refused(judgement: Judgement, evidence: Evidence) -> Judgement:
    """Return a judgement in which frozen parameters have their own cause if no change is suggested.

    A frozen layer has no gradient of its own, but passes one to the layers before it, which a
    stop_gradient at its call would stop too.
    """
    trained, own = evidence.torch_side.flags, _FROZEN.says(evidence.reference)

    def settled(finding: Finding) -> Finding:
        is_frozen = not trained.get(finding.torch, True)
        if not (is_frozen and finding.tested and finding.edit is None):
            return finding
        return dataclasses.replace(finding, cause=own, tested=False)

    findings = tuple(map(settled, judgement.surface.findings))
    return judgement._replace(surface=dataclasses.replace(judgement.surface, findings=findings))


def _finding(
    evidence: Evidence,
    torch_name: str,
    jax_name: str,
    text: str,
    cause: Difference = NO_DIFFERENCE,
) -> Finding:
    why = cause.says(evidence.reference)
    return Finding("structure", torch_name, jax_name, text, cause=why)


def _training(evidence: Evidence, name: str) -> Iterator[Finding]:
    """Yield a finding for each parameter that is trained in one framework only."""
    port, trained = evidence.port, evidence.torch_side.flags[name]
    leaves, where = port.weights.leaves_of(name), port.weights.place_of(name)
    reached = any(port.reachable[i] for i in leaves)
    mask, by_framework = evidence.trained, evidence.model.trained
    if evidence.trainable is not None:
        by_framework = None
    selected = reached if mask is None else any(mask[i] for i in leaves)
    gradient = evidence.runs[0].grads[name]
    if not trained:
        if selected and reached:
            yield _finding(
                evidence,
                name,
                where,
                "the parameter is frozen in torch (requires_grad is False) but trained in JAX",
                _FROZEN,
            )
    elif mask is not None and not selected and gradient is not None:
        if by_framework is None:
            text = "the parameter is trained in torch, but trainable= excludes it in JAX"
            yield _finding(evidence, name, where, text)
        else:
            text = f"the parameter is trained in torch, but not in JAX: {by_framework.rule}"
            yield _finding(evidence, name, where, text, _NOT_TRAINED)
    elif gradient is None:
        is_state = by_framework is not None and not selected
        if reached and not is_state and not _is_zero(evidence, name):
            text = "torch computes no gradient (None), but JAX computes one"
            yield _finding(evidence, name, where, text, _DETACHED)
    elif unreached := _unreached(port, name, gradient):
        stop = _last_stop(evidence, unreached)
        yield _finding(
            evidence,
            name,
            ", ".join(port.program.param_paths[i] for i in unreached),
            "torch computes a gradient, but no derivative path leads to the leaf in JAX",
            Told(
                f"every path to it ends at the stop_gradient at {stop}",
                f"JAX stops all gradients at {stop}; a .detach() is missing in torch",
            )
            if stop
            else Mutual("the JAX function ignores the leaf"),
        )


def _untied(evidence: Evidence, name: str) -> Iterator[Finding]:
    """Yield a finding for each torch parameter stored in several leaves that are all used."""
    port = evidence.port
    copies = _copies(port, name)
    if copies:
        yield _finding(
            evidence,
            name,
            port.weights.place_of(name),
            f"torch has one parameter, but JAX has {len(copies)} leaves that are not tied",
            _UNTIED,
        )


def _trained_buffers(evidence: Evidence, has_optimizer: bool) -> Iterator[Finding]:
    """Yield the leaves that the port trains although torch has a buffer in their place."""
    port, mask = evidence.port, evidence.trained
    declared = evidence.model.trained is not None and evidence.model.trained.declared
    buffers = set(evidence.torch_side.state) - set(evidence.torch_side.flags)
    for i, path in enumerate(port.program.param_paths):
        names = [name for name in port.weights.names_of(i) if name in buffers]
        trained = mask is None or mask[i]
        if evidence.trainable is None:
            trained = trained and port.reachable[i] and (declared or has_optimizer)
        if names and trained:
            instead = "a variable that is not a param" if declared else "a tree of its own"
            cause = Told(
                f"the leaf is among those that are trained: keep it in {instead}, or list the "
                "trained leaves in trainable=",
                "the leaf is among those that are trained: make the buffer a parameter, or list "
                "the trained leaves in trainable=",
            )
            text = "torch has a buffer, but JAX trains the leaf"
            yield _finding(evidence, names[0], path, text, cause)


def _missing(evidence: Evidence, name: str) -> Finding:
    text = "torch trains the parameter, but no JAX leaf holds it"
    return _finding(evidence, name, "no leaf", text, _MISSING)


def _last_stop(evidence: Evidence, leaves: Sequence[int]) -> str:
    """Return the place where JAX stops the gradients of some leaves, or an empty string.

    It is a stop without which a path would lead to the leaves: beside the stop inside of a softmax,
    another path goes on.
    """
    flow = evidence.flow
    goal = {key for keys in flow.outputs for key in keys}
    keys = [leaf_key(i) for i in leaves]
    stops = flow.between(keys, goal, set(), "stop_gradient")

    def is_alone(stop: Key) -> bool:
        return bool(flow.ahead(keys, {*stops} - {stop}) & goal)

    chosen = next(filter(is_alone, stops), stops[-1] if stops else None)
    return "" if chosen is None else place(evidence.port.program, chosen)


def _unreached(port: Port, name: str, grad: np.ndarray) -> list[int]:
    """Return the leaves of a weight that lack a derivative path although torch's gradient is not 0.

    A converter may store a tied weight twice while the port uses one copy; that is not an error.
    """
    pieces = [piece for piece in port.weights.pieces if piece.name == name]
    computed = [i for i in port.weights.leaves_of(name) if i not in {p.leaf for p in pieces}]
    if any(port.reachable[i] for i in computed):
        return []
    rest = np.array(grad.ravel())
    for piece in pieces:
        if port.reachable[piece.leaf]:
            rest[piece.used] = 0
    leaves = [p.leaf for p in pieces if not port.reachable[p.leaf] and np.any(rest[p.used])]
    return list(dict.fromkeys(leaves + (computed if np.any(rest) else [])))


def _is_zero(evidence: Evidence, name: str) -> bool:
    """Whether JAX's gradient of a torch parameter is zero: only its own part of a stacked leaf."""
    if evidence.failed_output_draw is None:
        gradients = evidence.jax_gradients[0]
    else:
        gradients = evidence.port.gradients(evidence.draws[0])
    gradient = evidence.by_torch_name(gradients).get(name)
    return gradient is None or not np.any(gradient)


def _copies(port: Port, name: str) -> list[int]:
    """Return the leaves that hold the same elements of one tensor and receive a gradient."""
    if name in port.weights.merged:
        return []
    pieces = [p for p in port.weights.pieces if p.name == name and p.used.size]
    pieces = [p for p in pieces if port.reachable[p.leaf]]
    if len({p.leaf for p in pieces}) < 2:
        return []
    total = sum(p.used.size for p in pieces)
    distinct = len(np.unique(np.concatenate([p.used for p in pieces])))
    return [p.leaf for p in pieces] if distinct < total else []
