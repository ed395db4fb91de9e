"""Do the buffers move alike: the statistics that a forward pass updates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from jaxgrad.parity.prove.adapters import ProofError
from jaxgrad.parity.prove.judge import judge
from jaxgrad.parity.prove.report import Finding, Surface
from jaxgrad.parity.prove.weights.likeness import likeness, natural, same_leaf


if TYPE_CHECKING:
    from jaxgrad.parity.prove.evidence import Proof


def surface(proof: Proof) -> Surface:
    """The buffers that torch's forward pass moved, against the new state of the JAX side."""
    run, draw = proof.runs[0], proof.draws[0]
    made = proof.port.program
    ours = dict(zip(made.state_paths, proof.watched[0][0][len(made.out_paths) :], strict=True))
    changed = [
        name
        for name, x in run.buffers.items()
        if x.dtype.kind in "fc" and not np.array_equal(x, draw.state[name])
    ]
    pairs = _pair(proof, changed, list(ours))
    judged = []
    for name, path in pairs.items():
        before = np.asarray(draw.state[name])
        theirs = run.buffers[name] - before
        mine = np.asarray(ours[path]).reshape(before.shape) - before
        again = [r.buffers[name] - before for r in proof.noise[0]]
        judged.append(judge(name, theirs, mine, again))
    missing = [name for name in changed if name not in pairs]
    if missing:
        raise ProofError(
            f"torch's forward pass moved the buffer {missing[0]!r}, and the new state that fn "
            f"returns has no leaf for it: {list(ours)}"
        )
    bad = [j for j in judged if j.verdict == "fail"]
    rows = tuple(j.row() for j in judged)
    if not bad:
        return Surface("updates", "pass", f"{len(judged)} buffers moved alike", rows)
    j = bad[0]
    finding = Finding(
        "updates",
        j.name,
        pairs[j.name],
        f"the buffer's move in one forward pass is off by {j.share:.2g} of it",
        j.index,
        j.torch,
        j.jax,
        True,
        _cause(proof, j.name, np.asarray(ours[pairs[j.name]])),
    )
    return Surface(
        "updates", "fail", f"{len(bad)} of {len(judged)} buffers differ", rows, (finding,)
    )


def _pair(proof: Proof, names: list[str], paths: list[str]) -> dict[str, str]:
    """Buffer -> leaf of the new state: by the leaf of params that it replaces, else by name."""
    found: dict[str, str] = {}
    made, shapes = proof.port.program, proof.draws[0].state
    for path in paths:
        for i, other in enumerate(made.param_paths):
            if same_leaf(path, other):
                for name in proof.port.weights.names_of(i):
                    if name in names:
                        found.setdefault(name, path)
    sizes = {
        path: int(np.prod(aval.shape))
        for path, aval in zip(
            made.state_paths, made.jaxpr.out_avals[len(made.out_paths) :], strict=True
        )
    }
    scored = [
        (-likeness(name, path), natural(name), natural(path), name, path)
        for name in names
        for path in paths
        if name not in found and path not in found.values() and sizes[path] == shapes[name].size
    ]
    for _, _, _, name, path in sorted(scored):
        if name not in found and path not in found.values():
            found[name] = path
    return found


def _cause(proof: Proof, name: str, ours: np.ndarray) -> str:
    """The usual mistakes of batch norm's statistics, tried."""
    module, _, _ = name.rpartition(".")
    before, after = np.asarray(proof.draws[0].state[name]), proof.runs[0].buffers[name]
    ours = ours.reshape(before.shape)
    if not proof.live:
        return ""
    momentum = getattr(dict(proof.side.module.named_modules()).get(module), "momentum", None)
    if not momentum:
        return ""
    batch = (after - (1 - momentum) * before) / momentum
    if np.allclose(ours, momentum * before + (1 - momentum) * batch, rtol=1e-9):
        return f"momentum the other way round: torch's {momentum:g} is JAX's {1 - momentum:g}"
    biased = (ours - (1 - momentum) * before) / momentum
    factor = biased / batch
    if np.allclose(factor, factor.flat[0], rtol=1e-9) and 0.4 < factor.flat[0] < 1:
        n = round(1 / (1 - float(factor.flat[0])))
        return f"biased variance (over N = {n}) where torch's running variance is over N - 1"
    return ""
