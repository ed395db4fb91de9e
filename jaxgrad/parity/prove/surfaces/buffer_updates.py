"""Compare the buffers that a forward pass updates, such as running statistics."""

from __future__ import annotations

import numpy as np

from jaxgrad._core import paths
from jaxgrad.parity.prove.adapters import ProofError
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.judge import judge
from jaxgrad.parity.prove.report import Finding, Surface
from jaxgrad.parity.prove.weights.likeness import leaves_of, likeness, natural


def changed(evidence: Evidence) -> list[str]:
    """Return the floating buffers that torch's forward pass changes."""
    before = evidence.draws[0].state
    return [
        name
        for name, x in evidence.runs[0].buffers.items()
        if x.dtype.kind in "fc" and not np.array_equal(x, before[name])
    ]


def note(evidence: Evidence) -> str:
    """Return a note on the buffers that torch changes if the port returns no state."""
    names = [] if evidence.port.has_state else changed(evidence)
    if not names:
        return ""
    return (
        f"torch's forward pass changes {len(names)} buffers ({', '.join(names[:4])}), which were "
        "not compared: let fn return (outputs, new_state) and pass has_state=True"
    )


def surface(evidence: Evidence, asked: bool = True) -> Surface | None:
    """Compare the buffers that torch's forward pass updates with the port's new state.

    Without being `asked`, return None if torch updates none of the port's state.
    """
    run, draw = evidence.runs[0], evidence.draws[0]
    program = evidence.port.program
    outputs = evidence.jax_runs[0].outputs
    state = dict(zip(program.state_paths, outputs[len(program.out_paths) :], strict=True))
    pairs = _pairs(evidence, names := changed(evidence), list(state), by_name=asked)
    if not asked and not pairs:
        return None
    missing = [name for name in names if name not in pairs]
    if missing and asked:
        raise ProofError(
            f"torch's forward pass updates the buffer {missing[0]!r}, but the new state that fn "
            f"returns has no such leaf. {paths.nearest(list(state), missing[:1])}"
        )
    judged = []
    for name, path in pairs.items():
        before = np.asarray(draw.state[name])
        actual = np.asarray(state[path]).reshape(before.shape) - before
        reruns = [rerun.buffers[name] - before for rerun in evidence.drawn[0].reruns]
        judged.append(judge(name, run.buffers[name] - before, actual, reruns))
    judged = evidence.waivers.apply("updates", judged)
    wrong = [j for j in judged if j.verdict == "fail"]
    rows = tuple(j.row() for j in judged)
    if not wrong:
        agreeing = sum(j.verdict != "accepted" for j in judged)
        return Surface("updates", "pass", f"{agreeing} buffer updates agree", rows)
    j = wrong[0]
    finding = Finding(
        "updates",
        j.name,
        pairs[j.name],
        f"the buffer's update in one forward pass is off by {j.share:.2g} (relative to the update)",
        **j.worst,
        cause=_cause(evidence, j.name, np.asarray(state[pairs[j.name]])),
    )
    text = f"{len(wrong)} of {len(judged)} buffer updates differ"
    return Surface("updates", "fail", text, rows, (finding,))


def _pairs(
    evidence: Evidence, names: list[str], paths: list[str], *, by_name: bool
) -> dict[str, str]:
    """Map buffers to leaves of the new state by their path in params, or else `by_name`."""
    pairs: dict[str, str] = {}
    program, before = evidence.port.program, evidence.draws[0].state
    avals = program.jaxpr.out_avals[len(program.out_paths) :]
    sizes = {
        path: int(np.prod(aval.shape))
        for path, aval in zip(program.state_paths, avals, strict=True)
    }
    for path in paths:
        for i in leaves_of(path, program.param_paths):
            for name in evidence.port.weights.names_of(i):
                if name in names and sizes[path] == before[name].size:
                    pairs.setdefault(name, path)
    scored = [
        (-likeness(name, path), natural(name), natural(path), name, path)
        for name in names
        for path in paths
        if by_name
        and name not in pairs
        and path not in pairs.values()
        and sizes[path] == before[name].size
    ]
    for _, _, _, name, path in sorted(scored):
        if name not in pairs and path not in pairs.values():
            pairs[name] = path
    return pairs


def _cause(evidence: Evidence, name: str, actual: np.ndarray) -> str:
    """Check whether a common mistake in batch norm's running statistics explains a difference."""
    module, _, _ = name.rpartition(".")
    before, after = np.asarray(evidence.draws[0].state[name]), evidence.runs[0].buffers[name]
    actual = actual.reshape(before.shape)
    if not evidence.rerunnable:
        return ""
    modules = dict(evidence.torch_side.module.named_modules())
    momentum = getattr(modules.get(module), "momentum", None)
    if not momentum:
        return ""
    batch = (after - (1 - momentum) * before) / momentum
    if np.allclose(actual, momentum * before + (1 - momentum) * batch, rtol=1e-9):
        return f"the momentum is inverted: torch uses {momentum:g}, JAX uses {1 - momentum:g}"
    step, own = actual - before, batch - before
    share = float(np.vdot(own, step) / (np.vdot(own, own) or 1.0))
    if np.allclose(step, share * own, rtol=1e-9) and 0 < share < 1 and np.size(own) > 1:
        return (
            f"the momentum is {share:.6g}, torch uses {momentum:g} (flax and optax count the part "
            f"that stays: {1 - momentum:g} is torch's {momentum:g})"
        )
    biased = (actual - (1 - momentum) * before) / momentum
    factor = biased / batch
    if np.allclose(factor, factor.flat[0], rtol=1e-9) and 0.4 < factor.flat[0] < 1:
        n = round(1 / (1 - float(factor.flat[0])))
        return f"the variance is divided by N = {n}, torch's running variance by N - 1"
    return ""
