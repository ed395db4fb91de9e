"""Do the weights move alike: optimizer steps, and the statistics that a forward pass updates."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jaxgrad.parity.front import ProofError
from jaxgrad.parity.judge import Judged, judge
from jaxgrad.parity.likeness import likeness, natural
from jaxgrad.parity.proof import Finding, Surface
from jaxgrad.parity.ulp import scale_of


if TYPE_CHECKING:
    from torch import nn

    from jaxgrad.parity.proving import Proof

PLANT = 1e-9
State = Mapping[str, np.ndarray]


def updates(proof: Proof, optimizer: Any, steps: int) -> Surface:
    """The surface; `not judged` where neither an optimizer nor a state was given."""
    parts: list[Surface] = []
    if proof.port.has_state:
        parts.append(_statistics(proof))
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


# -- statistics


def _statistics(proof: Proof) -> Surface:
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
        _statistic_cause(proof, j.name, np.asarray(ours[pairs[j.name]])),
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
            if other == path or other.endswith("/" + path) or path.endswith("/" + other):
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


def _statistic_cause(proof: Proof, name: str, ours: np.ndarray) -> str:
    """The usual mistakes of batch norm's statistics, tried."""
    module, _, _ = name.rpartition(".")
    before, after = np.asarray(proof.draws[0].state[name]), proof.runs[0].buffers[name]
    ours = ours.reshape(before.shape)
    if proof.side.module is None:
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


# -- steps


def _steps(proof: Proof, optimizer: Any, steps: int) -> Surface:
    factory, tx = optimizer
    torch_steps = proof.side.steps(factory, steps)
    theirs, again = torch_steps.states, torch_steps.again
    ours, opt_state = _jax(proof, tx, steps)
    zero = {j.name for j in proof.judged_gradients(0) if j.verdict == "zero"}
    marks = sorted({1, steps})
    rows: list[Judged] = []
    for step in marks:
        rows += _moves(proof, theirs, ours, again, step, zero)
    bad = [j for j in rows if j.verdict == "fail"]
    table = tuple(j.row() for j in rows)
    excluded = f"; {len(zero)} with a gradient of rounding alone left out" if zero else ""
    if bad:
        first = bad[0]
        name = first.name.partition(" after ")[0]
        finding = Finding(
            "updates",
            name,
            proof.jax_of(name),
            f"after {first.name.partition(' after ')[2]} the weight has moved otherwise: off by "
            f"{first.share:.2g} of the move",
            first.index,
            first.torch,
            first.jax,
            True,
            _cause(proof, factory, theirs, ours, bad, steps),
        )
        count = len({j.name.partition(" after ")[0] for j in bad})
        return Surface("updates", "fail", f"{count} weights move otherwise", table, (finding,))
    compared = [j for j in rows if j.verdict == "pass"]
    if not compared:
        return Surface("updates", "inconclusive", "no weight moved by more than rounding", table)
    worst = max(compared, key=lambda j: j.share)
    text = f"{steps} steps, largest difference {worst.share:.1g} of the move{excluded}"
    states = _states(proof, torch_steps.moments, opt_state, zero)
    if states:
        text += f"; {states}"
    control = ""
    for j in compared:
        name = j.name.partition(" after ")[0]
        if j.scale and abs(PLANT) > j.allowed / j.scale and j.torch:
            control = f"{PLANT:g} planted in the update of {name} was found"
            planted = {step: dict(tree) for step, tree in ours.items()}
            step = marks[0]
            before = np.asarray(proof.draws[0].state[name])
            planted[step][name] = before + (planted[step][name] - before) * (1 + 2 * PLANT)
            found = _moves(proof, theirs, planted, again, step, zero)
            if any(k.verdict == "fail" and k.name.startswith(name + " ") for k in found):
                break
            control = ""
    return Surface("updates", "pass", text, table, control=control)


def _moves(
    proof: Proof,
    theirs: Mapping[int, State],
    ours: Mapping[int, State],
    again: list[Any],
    step: int,
    zero: set[str],
) -> list[Judged]:
    """How far each weight has gone, on both sides."""
    before = proof.draws[0].state
    paths = {n: theirs[step][n] - before[n] for n in theirs[step]}
    most = max((scale_of(x) for x in paths.values()), default=0.0)
    out = []
    for name, move in paths.items():
        if name in zero or name not in ours[step]:
            continue
        mine = ours[step][name] - before[name]
        reruns = [move + (r[step][name] - theirs[step][name]) for r in again]
        scale = scale_of(move) or most
        # A weight of size 1 that moves by 1e-3 loses three digits of it.
        floor = 4 * float(np.finfo(np.float64).eps) * scale_of(np.asarray(before[name]))
        judged = judge(f"{name} after {step} steps", move, mine, reruns, scale=scale)
        if judged.verdict == "fail" and judged.difference <= floor:
            continue
        out.append(judged)
    return out


def _jax(proof: Proof, tx: Any, steps: int) -> tuple[dict[int, State], Any]:
    """The optax loop that a user writes: `jax.grad`, update, apply."""
    if not hasattr(tx, "init") or not hasattr(tx, "update"):
        raise ProofError(f"optimizer=: {type(tx).__name__} is no optax transformation")
    made, port = proof.port.program, proof.port
    count = len(made.param_paths)
    leaves = [jnp.asarray(x) for x in port.leaves(proof.draws[0])]
    trains = proof.train or [True] * count
    moves = [trains[i] and jnp.issubdtype(leaves[i].dtype, jnp.inexact) for i in range(count)]

    def tree(values: list[Any]) -> Any:
        return made.fill([x if m else None for x, m in zip(values, moves, strict=True)])

    state = tx.init(tree(leaves[:count]))
    step_jit = jax.jit(tx.update)
    found: dict[int, State] = {}
    for step in range(1, steps + 1):
        got = proof._gradients(proof.draws[0], leaves=leaves)
        pairs = zip(leaves[:count], got.leaves, strict=False)
        grads = [jnp.zeros_like(x) if g is None else jnp.conj(g) for x, g in pairs]
        change, state = step_jit(tree(grads), state, tree(leaves[:count]))
        new = jax.tree.leaves(optax.apply_updates(tree(leaves[:count]), change))
        numbers = [i for i in range(count) if moves[i]]
        for i, x in zip(numbers, new, strict=True):
            leaves[i] = x
        if port.has_state:
            _thread(made, leaves, got.outputs)
        found[step] = port.weights.values_of([np.asarray(x) for x in leaves[:count]])
    return found, state


def _thread(made: Any, leaves: list[Any], outputs: list[np.ndarray]) -> None:
    """The new state goes back to where params hold it, if they do."""
    for path, x in zip(made.state_paths, outputs[len(made.out_paths) :], strict=True):
        for i, other in enumerate(made.param_paths):
            if other == path or other.endswith("/" + path) or path.endswith("/" + other):
                leaves[i] = jnp.asarray(x)


_STATES = {
    "mu": "exp_avg",
    "nu": "exp_avg_sq",
    "trace": "momentum_buffer",
    "exp_avg": "exp_avg",
    "exp_avg_sq": "exp_avg_sq",
    "momentum_buffer": "momentum_buffer",
}


def _states(proof: Proof, torch_state: Any, opt_state: Any, zero: set[str]) -> str:
    """The moments that both optimizers keep, where names say which is which."""
    worst, count = 0.0, 0
    for path, x in jax.tree_util.tree_leaves_with_path(opt_state):
        text = jax.tree_util.keystr(path, simple=True, separator="/")
        found = re.search(rf"(?:^|/)({'|'.join(_STATES)})/(.*)$", text)
        if found is None or found[2] not in proof.port.program.param_paths:
            continue
        leaf = proof.port.program.param_paths.index(found[2])
        for piece in proof.port.weights.pieces:
            if piece.leaf != leaf or piece.name in zero:
                continue
            theirs = torch_state.get(piece.name, {}).get(_STATES[found[1]])
            if theirs is not None:
                expected = theirs.ravel()[piece.index]
                off = np.max(np.abs(np.asarray(x)[piece.region] - expected), initial=0.0)
                worst = max(worst, float(off) / (scale_of(expected) or 1.0))
                count += 1
    return f"{count} moments of the optimizer within {worst:.1g}" if count else ""


def _cause(
    proof: Proof,
    factory: Any,
    theirs: Mapping[int, State],
    ours: Mapping[int, State],
    bad: list[Judged],
    steps: int,
) -> str:
    """torch's optimizer again with one setting as ports often have it; the one that fits."""
    names = list(dict.fromkeys(j.name.partition(" after ")[0] for j in bad))
    before = proof.draws[0].state
    live = proof.side.module is not None
    for what, build in _variants(factory) if live else ():
        try:
            moves = proof.side.steps(build, steps, reruns=0).states
        except Exception:  # this mistake does not apply to this optimizer
            continue
        if all(_near(moves[steps][n], ours[steps][n], before[n]) for n in names):
            return f"{what}: with that, torch moves as JAX does"
    still = [n for n in names if np.array_equal(theirs[steps][n], before[n])]
    if still and len(still) == len(names):
        return "torch does not move it (no gradient: skipped), the optimizer in JAX does"
    name = names[0]
    a, b = theirs[1][name] - before[name], ours[1][name] - before[name]
    factor = float(np.vdot(a, b).real / (np.vdot(a, a).real or 1.0))
    if factor and np.linalg.norm(b - factor * a) < 1e-9 * np.linalg.norm(b):
        return f"the first step is {factor:.6g} times torch's"
    return ""


def _near(x: Any, y: Any, before: Any) -> bool:
    size = float(np.max(np.abs(x - before), initial=0.0))
    return bool(np.max(np.abs(x - y), initial=0.0) <= 1e-9 * size)


def _variants(factory: Any) -> Iterator[tuple[str, Callable[[nn.Module], Any]]]:
    """torch's optimizer with one setting changed."""
    from jaxgrad.parity.torch_live import made_optimizer

    def changed(what: str, **new: Any) -> tuple[str, Any]:
        def build(module: nn.Module) -> Any:
            made = made_optimizer(factory, module)
            for group in made.param_groups:
                for key, value in new.items():
                    if key not in group:
                        raise KeyError(key)
                    group[key] = value(group[key]) if callable(value) else value
            return made

        return what, _of_module(build)

    for eps in (1e-8, 1e-7, 1e-6, 1e-5, 1e-10, 1e-15):
        yield changed(f"eps {eps:g}", eps=eps)
    yield changed("no weight decay", weight_decay=0.0)
    yield changed("no momentum", momentum=0.0)
    yield changed("no dampening", dampening=0.0)
    yield changed("nesterov the other way", nesterov=lambda x: not x)
    yield changed("amsgrad the other way", amsgrad=lambda x: not x)
    for b2 in (0.99, 0.95, 0.98, 0.999):
        yield changed(f"beta2 {b2:g}", betas=lambda b, b2=b2: (b[0], b2))
    yield changed("weight decay decoupled the other way", decoupled_weight_decay=lambda x: not x)
    for factor in (0.1, 0.5, 2.0, 10.0):
        yield changed(f"a learning rate {factor:g} times torch's", lr=lambda x, f=factor: x * f)

    def one_decay(module: nn.Module) -> Any:
        made = made_optimizer(factory, module)
        most = max(group.get("weight_decay", 0.0) for group in made.param_groups)
        for group in made.param_groups:
            group["weight_decay"] = most
        return made

    yield "weight decay on every weight", _of_module(one_decay)


def _of_module(build: Callable[[nn.Module], Any]) -> Callable[[Any], Any]:
    """A factory that only takes the module."""

    def made(given: Any) -> Any:
        if not hasattr(given, "parameters"):
            raise TypeError("the module, please")
        return build(given)

    return made
