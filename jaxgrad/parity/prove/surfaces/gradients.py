"""The gradients surface: compare the gradients of all parameters and floating inputs."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Sequence

from jaxgrad.parity.prove.beside import conjugates
from jaxgrad.parity.prove.causes import collectives, numbers
from jaxgrad.parity.prove.causes.case import Explanation
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.judge import CONTROL_SIZES, Judged, judge
from jaxgrad.parity.prove.locate import quotes
from jaxgrad.parity.prove.record.adapters import ProofError
from jaxgrad.parity.prove.record.jax_side.flow import place
from jaxgrad.parity.prove.report import Finding, Judgement, Surface
from jaxgrad.parity.prove.text import counted, differing


def surface(evidence: Evidence, why: Explanation | None = None) -> Judgement:
    """Judge the gradients on the first draw on which one differs, or else on the first draw.

    Args:
        evidence: All runs.
        why: The tested cause of wrong gradients, if one was found.
    """
    draw = evidence.failed_gradient_draw
    judged = evidence.judged_gradients[draw or 0]
    rows = tuple(j.row() for j in judged)
    if not judged:
        return _one_sided(evidence)
    if draw is None and not any(j.torch or j.scale for j in judged if j.verdict != "zero"):
        raise ProofError(
            "all gradients are zero in torch, so the comparison would prove nothing. Pass a loss= "
            "or inputs with nonzero gradients (are all relus inactive, or the weights zero?)"
        )
    if draw is not None:
        wrong = [j for j in judged if j.verdict == "fail"]
        masks = [j for j in judged if j.verdict == "mask"]
        count = differing(len(wrong), len(judged) - len(masks), "gradient")
        text = f"{count}: {_listed([j.name for j in wrong])}"
        if draw:
            text += ", but only with redrawn weights and inputs"
        parameters = {j.name for j in judged if not j.name.startswith("input ")}
        only_inputs = parameters and parameters.isdisjoint(j.name for j in wrong)
        if only_inputs and not evidence.one_sided(evidence.runs[draw]):
            text += "; the gradients of all parameters agree"
        names = {j.name for j in wrong}
        causes = [x for x in ((why, *why.rest) if why is not None else ()) if x.fixed & names]
        findings = tuple(_finding(evidence, draw, wrong, cause) for cause in causes or [None])
        return Judgement(Surface("gradients", "fail", text, rows, findings), _ignored(masks))
    noisy = next(
        ((k, j) for k, each in enumerate(evidence.judged_gradients) for j in each
         if j.verdict == "inconclusive"), None,
    )  # fmt: skip
    if noisy is not None:
        text = f"{noisy[1].name}: rounding alone changes its gradient too much to compare"
        text += " with redrawn weights and inputs" if noisy[0] else ""
        text += f" ({noisy[1].doubt}{evidence.amplified(noisy[0])})"
        return Judgement(Surface("gradients", "inconclusive", text, rows))
    largest = max((j.share for j in judged if j.verdict == "pass"), default=0.0)
    agreeing = [j.name for j in judged if j.verdict not in ("accepted", "mask")]
    inputs = sum(name.startswith("input ") for name in agreeing)
    text = counted(len(agreeing), "gradient") + (f" ({inputs} of inputs)" if inputs else "")
    text = text if agreeing else "the gradients"
    text += f" {numbers.agreement(largest, 'their scale', count=len(agreeing))}"
    text += numbers.zeros([j.verdict for j in judged])
    if statement := conjugates.statement(evidence):
        text += f"; {statement}"
    control = _control(evidence)
    masks = [j for each in evidence.judged_gradients for j in each if j.verdict == "mask"]
    return Judgement(Surface("gradients", "pass", text, rows, control=control), _ignored(masks))


def _one_sided(evidence: Evidence) -> Judgement:
    """Judge a pair of which one program, or neither, has a gradient."""
    torchs = [n for n, g in evidence.torch_gradients(evidence.runs[0]).items() if g is not None]
    grads = evidence.by_torch_name(evidence.jax_gradients[0]).items()
    jaxs = [n for n, g in grads if g is not None]
    result = "loss" if evidence.torch_side.has_loss else "output"
    if not torchs and not jaxs:
        raise ProofError(
            f"there is no gradient to compare: neither torch's {result} nor JAX's depends on a "
            "trained weight or a floating input in a way that lets a gradient through (is "
            "everything frozen, detached or under no_grad?)"
        )
    if torchs and jaxs:
        raise ProofError(
            f"there is no gradient to compare: torch's {result} has gradients only with respect "
            f"to {_listed(torchs)}, and JAX's only with respect to {_listed(jaxs)}"
        )
    names, has, lacks = (torchs, "torch", "JAX") if torchs else (jaxs, "JAX", "torch")
    text = f"{has} computes {counted(len(names), 'gradient')}, but {lacks} computes none"
    where = evidence.jax_place(names[0])
    cause = f"{lacks}'s {result} is detached from all weights"
    finding = Finding("gradients", names[0], where, text, cause=cause)
    return Judgement(Surface("gradients", "fail", text, findings=(finding,)))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def _ignored(masks: Sequence[Judged]) -> tuple[str, ...]:
    """Name the inputs of zeros and ones whose gradients differ."""
    names = ", ".join(dict.fromkeys(j.name for j in masks))
    if not names:
        return ()
    text = "which holds only zeros and ones, differs; this is not judged, because a mask is data"
    return (f"the gradient of {names}, {text}",)


def _finding(
    evidence: Evidence, draw: int, wrong: Sequence[Judged], why: Explanation | None
) -> Finding:
    explained = [] if why is None else [j for j in wrong if j.name in why.fixed]
    bad = _last_used(evidence, explained or wrong)
    finding = Finding(
        "gradients",
        bad.name,
        evidence.jax_place(bad.name),
        _difference(evidence, draw, bad),
        **bad.worst,
        cause=_cause(evidence, draw, bad.name),
    )
    if why is None or not explained:
        return finding
    program = evidence.port.program
    where = finding.jax if why.key is None else f"{finding.jax}, {place(program, why.key)}"
    finding = dataclasses.replace(finding, jax=where, cause=why.text, tested=why.confirmed)
    return quotes.explained(evidence, finding, why)


def _difference(evidence: Evidence, draw: int, bad: Judged) -> str:
    """Say how much a gradient is off, or which elements are NaN or infinite."""
    actual = evidence.by_torch_name(evidence.jax_gradients[draw])[bad.name]
    expected = evidence.torch_gradients(evidence.runs[draw])[bad.name]
    infinite, _ = numbers.not_finite(expected, actual) if actual is not None else ("", ())
    if infinite:
        return f"the gradient differs: {infinite}"
    return f"the gradient is off by {bad.share:.2g} (relative to its scale)"


def _last_used(evidence: Evidence, wrong: Sequence[Judged]) -> Judged:
    """Return the wrong gradient whose parameter is used last in the forward pass."""
    last = {name: i for i, value in enumerate(evidence.runs[0].values) for name in value.weights}
    parameters = [j for j in wrong if j.name in last]
    return max(parameters, key=lambda j: (last[j.name], j.share)) if parameters else wrong[0]


def _cause(evidence: Evidence, draw: int, name: str) -> str:
    """Describe how JAX's gradient relates to torch's."""
    expected = evidence.torch_gradients(evidence.runs[draw])[name]
    actual = evidence.by_torch_name(evidence.jax_gradients[draw])[name]
    devices = collectives.multiple(evidence.port.program, expected, actual)
    return "; ".join(filter(None, (numbers.ratio(expected, actual), devices)))


def _control(evidence: Evidence) -> str:
    """Change one parameter's gradient, and check that the comparison then fails."""
    actual = evidence.by_torch_name(evidence.jax_gradients[0])
    expected = evidence.torch_gradients(evidence.runs[0])
    reruns = [evidence.torch_gradients(run) for run in evidence.drawn[0].gradient_reruns[:1]]
    most = evidence.drawn[0].most_rounding
    for size, j in itertools.product(CONTROL_SIZES, evidence.judged_gradients[0]):
        if j.verdict == "pass" and j.scale:
            x, y = expected[j.name], actual[j.name]
            assert x is not None and y is not None
            changes = [rerun[j.name] for rerun in reruns if rerun[j.name] is not None]
            if judge(j.name, x, y * (1 + size), changes, most=most).verdict == "fail":
                return f"an error of {size:g} injected into the gradient of {j.name} was detected"
    return ""
