"""The updates surface: do the weights, and the buffers, move alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from jaxgrad.parity.prove.judge import PLANT, Judged, judge
from jaxgrad.parity.prove.report import Finding, Surface
from jaxgrad.parity.prove.surfaces import buffer_updates, trajectories, update_causes
from jaxgrad.parity.prove.surfaces.trajectories import Trajectories
from jaxgrad.parity.prove.torch_side.side import marks
from jaxgrad.parity.ulp import scale_of


if TYPE_CHECKING:
    from jaxgrad.parity.prove.evidence import Proof


def surface(proof: Proof, optimizer: Any, steps: int) -> Surface:
    """Buffers and steps; `not judged` where neither a state nor an optimizer was given."""
    parts: list[Surface] = []
    if proof.port.has_state:
        parts.append(buffer_updates.surface(proof))
    if optimizer is not None:
        parts.append(_steps(proof, optimizer, max(1, steps)))
    if not parts:
        return Surface("updates", "not judged", "no optimizer= was given")
    verdicts = [p.verdict for p in parts]
    worst = "fail" if "fail" in verdicts else min(verdicts, key=lambda v: v != "inconclusive")
    return Surface(
        "updates",
        worst,
        "; ".join(p.text for p in parts),
        tuple(row for p in parts for row in p.rows),
        tuple(f for p in parts for f in p.findings),
        "; ".join(p.control for p in parts if p.control),
    )


class Move(NamedTuple):
    """How far one weight has gone after some steps, on both sides."""

    name: str
    step: int
    judged: Judged


def _steps(proof: Proof, optimizer: tuple[Any, Any], steps: int) -> Surface:
    """The weights after the first step and after the last."""
    paths = trajectories.run(proof, optimizer, steps)
    zero = {j.name for j in proof.judged_gradients[0] if j.verdict == "zero"}
    moves = [move for step in marks(steps) for move in _moves(paths, step, zero)]
    rows = tuple(move.judged.row() for move in moves)
    wrong = [move for move in moves if move.judged.verdict == "fail"]
    if wrong:
        names = list(dict.fromkeys(move.name for move in wrong))
        name, step, judged = wrong[0]
        finding = Finding(
            "updates",
            name,
            proof.jax_of(name),
            f"after {step} steps the weight has moved otherwise: off by {judged.share:.2g} of the "
            "move",
            judged.index,
            judged.torch,
            judged.jax,
            True,
            update_causes.guess(proof.side, optimizer[0], paths, names),
        )
        return Surface("updates", "fail", f"{len(names)} weights move otherwise", rows, (finding,))
    alike = [move for move in moves if move.judged.verdict == "pass"]
    if not alike:
        return Surface("updates", "inconclusive", "no weight moved by more than rounding", rows)
    worst = max(alike, key=lambda move: move.judged.share).judged
    text = f"{steps} steps, largest difference {worst.share:.1g} of the move"
    if zero:
        text += f"; {len(zero)} with a gradient of rounding alone left out"
    moments = _moments(proof, paths, zero)
    if moments:
        text += f"; {moments}"
    return Surface("updates", "pass", text, rows, control=_planted(paths, alike, zero))


def _moves(paths: Trajectories, step: int, zero: set[str]) -> list[Move]:
    """Every weight but those whose gradient is of rounding alone (`zero`)."""
    before, theirs, ours = paths.before, paths.theirs[step], paths.ours[step]
    gone = {name: x - before[name] for name, x in theirs.items()}
    most = max((scale_of(x) for x in gone.values()), default=0.0)
    out = []
    for name, move in gone.items():
        if name in zero or name not in ours:
            continue
        mine = ours[name] - before[name]
        reruns = [move + (run[step][name] - theirs[name]) for run in paths.again]
        scale = scale_of(move) or most
        # A weight of size 1 that moves by 1e-3 loses three digits of it.
        floor = 4 * float(np.finfo(np.float64).eps) * scale_of(np.asarray(before[name]))
        judged = judge(f"{name} after {step} steps", move, mine, reruns, scale=scale)
        if judged.verdict == "fail" and judged.difference <= floor:
            continue
        out.append(Move(name, step, judged))
    return out


def _planted(paths: Trajectories, alike: Sequence[Move], zero: set[str]) -> str:
    """Move one weight a little further in the first step: it must be found."""
    for name, _, judged in alike:
        if judged.scale and judged.allowed / judged.scale < PLANT and judged.torch:
            before, after = np.asarray(paths.before[name]), paths.ours[1][name]
            further = before + (after - before) * (1 + 2 * PLANT)
            planted = paths._replace(ours={1: {**paths.ours[1], name: further}})
            found = [move for move in _moves(planted, 1, zero) if move.name == name]
            if any(move.judged.verdict == "fail" for move in found):
                return f"{PLANT:g} planted in the update of {name} was found"
    return ""


_MOMENTS = {
    "mu": "exp_avg",
    "nu": "exp_avg_sq",
    "trace": "momentum_buffer",
    "exp_avg": "exp_avg",
    "exp_avg_sq": "exp_avg_sq",
    "momentum_buffer": "momentum_buffer",
}  # optax's name -> torch's


def _moments(proof: Proof, paths: Trajectories, zero: set[str]) -> str:
    """The moments that both optimizers keep, where names say which is which."""
    worst, count = 0.0, 0
    for path, x in jax.tree_util.tree_leaves_with_path(paths.opt_state):
        text = jax.tree_util.keystr(path, simple=True, separator="/")
        found = re.search(rf"(?:^|/)({'|'.join(_MOMENTS)})/(.*)$", text)
        if found is None or found[2] not in proof.port.program.param_paths:
            continue
        leaf = proof.port.program.param_paths.index(found[2])
        for piece in proof.port.weights.pieces:
            if piece.leaf != leaf or piece.name in zero:
                continue
            theirs = paths.moments.get(piece.name, {}).get(_MOMENTS[found[1]])
            if theirs is not None:
                expected = theirs.ravel()[piece.index]
                off = np.max(np.abs(np.asarray(x)[piece.region] - expected), initial=0.0)
                worst = max(worst, float(off) / (scale_of(expected) or 1.0))
                count += 1
    return f"{count} moments of the optimizer within {worst:.1g}" if count else ""
