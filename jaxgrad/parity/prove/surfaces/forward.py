"""The forward surface: the outputs are alike, or where the first value went astray."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from jaxgrad.parity.prove.jax_side.flow import place
from jaxgrad.parity.prove.judge import PLANT, Judged
from jaxgrad.parity.prove.report import Finding, Surface
from jaxgrad.parity.prove.surfaces import locate_forward as forward


if TYPE_CHECKING:
    from jaxgrad.parity.prove.evidence import Proof
    from jaxgrad.parity.prove.surfaces.forward_causes import Guess


def surface(proof: Proof) -> Surface:
    """Every output in the first draw in which one differs, else in the first."""
    draw = proof.forward_fails
    judged = proof.judge_outputs(draw or 0, proof.watched[draw or 0][0])
    rows = tuple(j.row() for j in judged)
    if draw is not None:
        wrong = [j for j in judged if j.verdict == "fail"]
        finding = proof.located(lambda: _locate(proof, draw, wrong), _unplaced(wrong[0]))
        text = f"{wrong[0].name} is off by {wrong[0].share:.2g} of its scale"
        if draw:
            text += " with redrawn weights and inputs (with those given it is not)"
        return Surface("forward", "fail", text, rows, (finding,))
    noisy = next((j for j in judged if j.verdict == "inconclusive"), None)
    if noisy is not None:
        text = f"{noisy.name}: rounding alone moves it by {noisy.allowed / noisy.scale:.1g}"
        return Surface("forward", "inconclusive", text, rows)
    worst = max(judged, key=lambda j: j.share)
    modules = {c.module for c in proof.runs[0].calls if c.outputs}
    text = (
        f"largest difference {worst.share:.1g} of scale; {len(judged)} outputs, "
        f"{len(modules) - len(proof.not_visible)} of {len(modules)} module outputs found inside"
    )
    return Surface("forward", "pass", text, rows, control=_planted(proof))


def _locate(proof: Proof, draw: int, wrong: Sequence[Judged]) -> Finding:
    """The first torch value that the JAX program lacks, on the way to the outputs that differ."""
    run, seen, bad = proof.runs[draw], proof.seen, wrong[0]
    made, weights = proof.port.program, proof.port.weights
    positions = {name or "output": k for k, name in enumerate(run.outputs)}
    ends = [run.output_values[positions[j.name]] for j in wrong]
    ends = [i for i in ends if i is not None]
    outs = [key for j in wrong for key in proof.flow.outputs[positions[j.name]]]
    if ends and all(seen.candidates[i] for i in ends):
        at = run.values[ends[0]]
        text = f"the JAX program has what torch's {at.op} makes, and returns something else"
        return Finding("forward", at.module or forward.ROOT, place(made, outs[0]), text,
                       bad.index, bad.torch, bad.jax, op=at.op)  # fmt: skip
    if not ends:
        first = place(made, outs[0]) if outs else "the output"
        return Finding("forward", "(the outputs)", first, f"{bad.name} differs", bad.index,
                       bad.torch, bad.jax, True)  # fmt: skip
    lost = forward.sides(proof.flow, seen, outs)
    mapped = {piece.name for piece in weights.pieces}
    starts = forward.origins(run, seen, forward.lost(run, seen, ends), mapped)
    starts = forward.likely(run, lost, weights, starts) or ends[:1]
    # Constants that are alike in the user's weights (zeros of a bias) are not in the redrawn ones.
    every = [proof.judge_outputs(k, ours) for k, (ours, _) in enumerate(proof.watched)]
    last = max(k for k, judged in enumerate(every) if _fails(judged))
    guess = _guess(proof, last if len(proof.runs[last].values) == len(run.values) else draw, starts)
    start = starts[0] if guess is None else guess.value
    value = run.values[start]
    module = forward.module_of(run, starts) if guess is None else value.module
    keys = lost.first(forward.reads(run, lost, weights, start)) or lost.any() or outs
    key = guess.key if guess is not None and guess.key is not None else keys[0]
    return Finding(
        "forward",
        module or forward.ROOT,
        place(made, key),
        f"torch's {value.op} makes {list(value.shape)} of values that the JAX program has, and "
        f"the JAX program has no such value; so {bad.name} is off by {bad.share:.2g} of its scale",
        bad.index,
        bad.torch,
        bad.jax,
        True,
        guess.text if guess is not None else "",
        value.op,
    )


def _unplaced(bad: Judged) -> Finding:
    text = f"{bad.name} differs"
    return Finding("forward", "(the outputs)", "the output", text, bad.index, bad.torch, bad.jax)


def _fails(judged: Sequence[Judged]) -> bool:
    return any(j.verdict == "fail" for j in judged)


def _guess(proof: Proof, draw: int, starts: Sequence[int]) -> Guess | None:
    """The usual mistake with which torch makes JAX's value."""
    if not proof.live:
        return None
    from jaxgrad.parity.prove.surfaces import forward_causes as causes

    return causes.forward(proof, draw, starts)


def _planted(proof: Proof) -> str:
    """Move one value inside the JAX program; the outputs must differ."""
    for i in proof.plantable:
        spot = proof.seen.spot(i)
        assert spot is not None
        outs = proof.port.outputs(proof.draws[0], {spot.key: np.float64(1 + PLANT)})
        if any(j.verdict == "fail" for j in proof.judge_outputs(0, outs)):
            return f"{PLANT:g} planted at {place(proof.port.program, spot.key)} was found"
    return ""
