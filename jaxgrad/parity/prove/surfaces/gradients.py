"""The gradients surface: every parameter's gradient, and every floating input's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxgrad.parity.prove.adapters import ProofError
from jaxgrad.parity.prove.jax_side.flow import leaf_key, place
from jaxgrad.parity.prove.judge import PLANT, Judged, judge
from jaxgrad.parity.prove.report import Finding, Surface
from jaxgrad.parity.prove.surfaces import single_precision


if TYPE_CHECKING:
    from jaxgrad.parity.prove.evidence import Proof


def surface(proof: Proof) -> Surface:
    """The gradients in the first draw in which one differs, else in the first."""
    draw = proof.gradients_fail
    judged = proof.judged_gradients[draw or 0]
    rows = tuple(j.row() for j in judged)
    if not judged:
        raise ProofError(
            "no gradient was compared: nothing on torch's side requires one, or the loss does "
            "not depend on it"
        )
    if not any(j.torch or j.scale for j in judged if j.verdict != "zero"):
        raise ProofError(
            "all gradients are zero on torch's side: nothing would be proved. Give a loss= or "
            "inputs for which they are not (a relu that is off everywhere, weights of zero?)"
        )
    if draw is not None:
        wrong = [j for j in judged if j.verdict == "fail"]
        text = f"{len(wrong)} of {len(judged)} differ"
        if draw:
            text += " with redrawn weights (with those given none does)"
        return Surface("gradients", "fail", text, rows, (_finding(proof, draw, wrong),))
    noisy = next((j for j in judged if j.verdict == "inconclusive"), None)
    if noisy is not None:
        text = f"{noisy.name}: rounding alone moves its gradient by more than it could show"
        return Surface("gradients", "inconclusive", text, rows)
    worst = max((j for j in judged if j.verdict == "pass"), key=lambda j: j.share)
    text = f"{len(judged)} compared, largest difference {worst.share:.1g} of scale"
    zeros = sum(j.verdict == "zero" for j in judged)
    if zeros:
        text += f"; {zeros} are zero but for rounding on both sides"
    with proof.clock("float32"):
        loss = single_precision.loss_of_digits(proof)
    if loss is not None:
        clause, note = single_precision.said(loss)
        text += f"; {clause}"
        proof.notes += [note] if note else []
    return Surface("gradients", "pass", text, rows, control=_planted(proof))


def _finding(proof: Proof, draw: int, wrong: list[Judged]) -> Finding:
    bad = _last_used(proof, wrong)
    return Finding(
        "gradients",
        bad.name,
        proof.jax_of(bad.name),
        f"the gradient is off by {bad.share:.2g} of its scale",
        bad.index,
        bad.torch,
        bad.jax,
        True,
        _cause(proof, draw, bad.name),
    )


def _last_used(proof: Proof, wrong: list[Judged]) -> Judged:
    """Of the wrong gradients the one that is used last in the forward pass."""
    last = {name: i for i, value in enumerate(proof.runs[0].values) for name in value.weights}
    parameters = [j for j in wrong if j.name in last]
    return max(parameters, key=lambda j: (last[j.name], j.share)) if parameters else wrong[0]


def _cause(proof: Proof, draw: int, name: str) -> str:
    """What JAX's gradient is to torch's, and where JAX stops a part of it."""
    said = []
    if proof.live:
        from jaxgrad.parity.prove.surfaces import forward_causes as causes

        said.append(causes.ratio(proof, draw, name))
    leaves = [leaf_key(i) for i in proof.port.weights.leaves_of(name)]
    ends = {key for keys in proof.flow.outputs for key in keys} | proof.seen.known
    stops = proof.flow.between(leaves, ends, proof.seen.known, "stop_gradient")
    if stops:
        where = place(proof.port.program, stops[0])
        said.append(f"a part of it is stopped at {where}: an extra stop_gradient?")
    return "; ".join(x for x in said if x)


def _planted(proof: Proof) -> str:
    """Scale one parameter's gradient by 1 + 1e-9: it must be found."""
    named, given = proof.named(proof.differentiated[0]), proof.theirs(proof.runs[0])
    reruns = [proof.theirs(run) for run in proof.noise[0]]
    for j in proof.judged_gradients[0]:
        if j.verdict == "pass" and j.scale:
            theirs, ours = given[j.name], named[j.name]
            assert theirs is not None and ours is not None
            again = [r for r in (found[j.name] for found in reruns) if r is not None]
            if judge(j.name, theirs, ours * (1 + PLANT), again).verdict == "fail":
                return f"{PLANT:g} planted in the gradient of {j.name} was found"
    return ""
