"""The backward surface: the cotangents inside are alike, or where the first one goes astray."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jaxgrad.parity.prove.align.fingerprint import apart, fingerprint, magnitude
from jaxgrad.parity.prove.jax_side.flow import leaf_of, place
from jaxgrad.parity.prove.jax_side.port import Gradients
from jaxgrad.parity.prove.jax_side.program import Key
from jaxgrad.parity.prove.judge import PLANT
from jaxgrad.parity.prove.report import Finding, Surface
from jaxgrad.parity.prove.surfaces import locate_backward as backward
from jaxgrad.parity.prove.surfaces import locate_forward as forward
from jaxgrad.parity.prove.torch_side.values import rounding


if TYPE_CHECKING:
    from jaxgrad.parity.prove.evidence import Proof


def surface(proof: Proof) -> Surface:
    """The cotangents inside; they are asked where a gradient differs."""
    count, draw = len(proof.spots()), proof.gradients_fail
    if draw is None:
        text = f"{count} cotangents inside"
        return Surface("backward", "pass", text, control=_planted(proof))
    wrong = _wrong(proof, draw, proof.differentiated[draw])
    read = {k for value in proof.runs[draw].values for k in value.inputs}
    last = proof.ends - read  # nothing comes back into these but what the proof puts in
    inside = [i for i in wrong if i not in last and _matters(proof, draw, i)]
    while inside and _stopped_too(proof, draw, inside[-1]):
        inside.pop()
    if not inside:
        text = f"{count} cotangents inside agree"
        return Surface("backward", "pass", text, control=_planted(proof))
    value = proof.runs[draw].values[inside[-1]]
    text = f"the cotangent of torch's {value.name} differs"
    plain = Finding("backward", value.module or forward.ROOT, "not found", text, op=value.op)
    finding = proof.located(lambda: _locate(proof, draw, inside[-1]), plain)
    text = f"{len(inside)} of {count} cotangents inside differ"
    return Surface("backward", "fail", text, (), (finding,))


def _wrong(proof: Proof, draw: int, found: Gradients) -> list[int]:
    """The torch values whose cotangents differ in one draw."""
    run = proof.runs[draw]
    noise = dict(enumerate(_noise(proof, draw)))
    return backward.wrong(run, proof.spots(draw), found.cotangents, noise)


def _noise(proof: Proof, draw: int) -> np.ndarray:
    return rounding(proof.runs[draw], proof.noise[draw], lambda value: value.cotangent)


def _matters(proof: Proof, draw: int, number: int) -> bool:
    """Whether a cotangent that differs has spoiled the gradients next to it.

    A port may use a value in other places than torch does, and still be right.
    """
    right = {j.name for j in proof.judged_gradients[draw] if j.verdict != "fail"}
    inputs = {n for n in proof.theirs(proof.runs[draw]) if n.startswith("input ")}
    near = backward.nearest(proof.runs[draw], number)
    names = (near - {"input"}) | (inputs if "input" in near else set())
    return not names or not names <= right


def _stopped_too(proof: Proof, draw: int, number: int) -> bool:
    """Whether torch stops the gradient of a value, and JAX that of one of its copies.

    A port may make the same numbers for a loss, where the gradient passes, and again for a
    straight-through estimator, where it does not.
    """
    if proof.runs[draw].values[number].cotangent is not None:
        return False
    return any(not np.any(g) for _, g in _copies(proof, draw, number))


def _copies(proof: Proof, draw: int, number: int, first: int = 0) -> list[tuple[Key, np.ndarray]]:
    """The JAX values with the numbers of torch's, and their cotangents."""
    spots = [proof.seen.spots[k] for k in proof.seen.candidates[number][first:9]]
    spots = [s for s in spots if s.path not in proof.port.program.closed]
    spots = [s for s in spots if leaf_of(s.key) is None]
    if not spots:
        return []
    got = proof.port.gradients(proof.draws[draw], tuple(dict.fromkeys(s.key for s in spots)))
    return [(s.key, np.asarray(got.cotangents[s.key])[s.turn]) for s in spots]


def _locate(proof: Proof, draw: int, number: int) -> Finding:
    """The call through which the cotangent of a torch value goes wrong."""
    run, seen = proof.runs[draw], proof.seen
    spot = proof.spots(draw)[number]
    number = backward.handed_on(run, seen, number)
    if proof.live:
        run = proof.side.run(proof.draws[draw], keep=True, parts_of=number)
    value = run.values[number]
    ours = np.asarray(proof.differentiated[draw].cotangents[spot.key])[spot.turn]
    passed = _passed(proof, draw, number, value.cotangent, bool(np.any(ours)))
    if proof.live or value.cotangent is None:
        both = value.data, proof.port.value(proof.draws[draw], spot)
        reader, cause = backward.culprit(
            number, value.cotangent_data, ours, run, both, _noise(proof, draw)[number]
        )
    else:  # of the calls that read it, a dump cannot tell through which it goes wrong
        reader, cause = backward.first_reader(run, number), ""
    reader = None if passed else backward.through(run, seen, number, reader)
    at = value
    if reader is not None and not backward.moves_only(run, reader):
        at = run.values[reader]
    same = {seen.spots[k].key for k in seen.candidates[number]}
    key = passed or backward.between(proof.flow, seen, spot, reader, same)
    size = float(np.max(np.abs(ours), initial=0.0))
    worst = np.unravel_index(int(np.argmax(np.abs(ours))), ours.shape) if ours.size else ()
    torch_value = None if value.cotangent is None else float(magnitude(value.cotangent))
    shown = "absent" if torch_value is None else f"{torch_value:.6g}"
    return Finding(
        "backward",
        at.module or forward.ROOT,
        place(proof.port.program, key),
        f"the cotangent of what it reads, torch's {value.name}, differs: its largest element "
        f"is {shown} in torch, {size:.6g} in JAX",
        tuple(int(i) for i in worst),
        torch_value,
        size,
        True,
        cause,
        at.op,
    )


def _passed(
    proof: Proof, draw: int, number: int, theirs: np.ndarray | None, moved: bool
) -> Key | None:
    """A JAX value with the same numbers whose cotangent is still right: what made it is not.

    A stop_gradient did not make wrong what arrives (`moved`): through it nothing does.
    """
    if theirs is None:
        return None
    equations = proof.port.program.equations
    for key, cotangent in _copies(proof, draw, number, 1):
        stops = equations[key[0]].primitive.name == "stop_gradient"
        if not (stops and moved) and float(apart(fingerprint(cotangent), theirs)) < 1e-10:
            return key
    return None


def _planted(proof: Proof) -> str:
    """Bend one cotangent inside the JAX program by 1e-9: it must be found."""
    if proof.bent is None:
        return ""
    found = proof.gradients(proof.draws[0], 1 + PLANT)
    if _wrong(proof, 0, found) or any(j.verdict == "fail" for j in proof.judge_gradients(0, found)):
        where = place(proof.port.program, proof.bent)
        return f"{PLANT:g} planted in the cotangent at {where} was found"
    return ""
