"""Find why updates differ: train in torch again, with one setting changed."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.jax_side.loop import Loop
from jaxgrad.parity.prove.surfaces.trajectories import Trajectories
from jaxgrad.parity.prove.torch_side.side import State, Steps
from jaxgrad.parity.prove.training import Training


if TYPE_CHECKING:
    from jaxgrad.parity.prove.torch_side.variants import Variant

Agrees = Callable[[Steps], bool]  # whether torch's steps give the port's numbers
_SECONDS = 60.0  # a search that takes longer is given up
CONFIRMED = " (rerunning torch with this change reproduces JAX's weights)"


def guess(
    evidence: Evidence, training: Training, paths: Trajectories, agrees: Agrees, name: str
) -> str:
    """Describe the change with which torch would train as JAX does.

    Args:
        evidence: The evidence of the proof.
        training: The user's training step.
        paths: The weights of both frameworks.
        agrees: Whether steps of torch give what the port gives.
        name: The first weight that differs.
    """
    if evidence.rerunnable:
        steps, start = max(paths.torch), time.perf_counter()
        for variant in _variants(evidence, training, paths):
            taken = _rerun(evidence, variant, steps)
            if taken is not None and agrees(taken):
                return variant.text + CONFIRMED
            if time.perf_counter() - start > _SECONDS:
                break
    if training.accumulate > 1 and not _counts_micro_batches(paths.opt_state):
        return (
            "the transformation updates the weights at each micro-batch, because its state does "
            f"not count them; wrap it in optax.MultiSteps(tx, {training.accumulate})"
        )
    before, expected, actual = paths.before[name], paths.torch, paths.jax
    if all(np.array_equal(weights[name], before) for weights in expected.values()):
        return "torch skips the weight, which has no gradient, but JAX's optimizer changes it"
    factor = proportion(expected[1][name] - before, actual[1][name] - before)
    if factor is not None:
        return f"the first step is {factor:.6g} times torch's"
    return ""


def _variants(evidence: Evidence, training: Training, paths: Trajectories) -> Iterator[Variant]:
    from jaxgrad.parity.prove.torch_side import port_numbers, variants

    yield from _rates(training, paths)
    yield from _decays(evidence, training, paths)
    yield from variants.variants(training)
    numbers = Loop(evidence.port, training, evidence.draws[0], evidence.trainable).numbers()
    yield from port_numbers.clips(training, numbers)
    yield from port_numbers.settings(training, evidence.torch_side.module, numbers)


def _rerun(evidence: Evidence, variant: Variant, steps: int) -> Steps | None:
    """Train in torch with a variant; None if the optimizer lacks its setting."""
    from jaxgrad.parity.prove.torch_side.variants import clipping_by

    try:
        with clipping_by(variant.clip), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return evidence.torch_side.steps(variant.training, evidence.draws, steps, reruns=0)
    except Exception:
        return None


def _rates(training: Training, paths: Trajectories) -> Iterator[Variant]:
    """Yield the learning rate that the first step shows, if one factor fits all weights."""
    from jaxgrad.parity.prove.torch_side import variants

    before, expected, actual = paths.before, paths.torch[1], paths.jax[1]
    moved = {n: x - before[n] for n, x in expected.items() if n in actual}
    factors = [proportion(x, actual[n] - before[n]) for n, x in moved.items() if np.any(x)]
    known = [f for f in factors if f is not None]
    if known and len(known) == len(factors) and np.ptp(known) <= 1e-6 * abs(known[0]):
        factor = float(f"{known[0]:.6g}")
        changed = variants.with_settings(training, lr=lambda x: x * factor)
        text = f"the learning rate is {factor:g} times torch's"
        yield variants.Variant(text, changed)


def _decays(evidence: Evidence, training: Training, paths: Trajectories) -> Iterator[Variant]:
    """Yield the weight decays that explain how each weight changed in the first step."""
    from jaxgrad.parity.prove.torch_side import loop, variants

    settings = loop.settings(training, evidence.torch_side.module)
    if not all("weight_decay" in group for group in settings.values()):
        return
    own: dict[str, float] = {n: group["weight_decay"] for n, group in settings.items()}
    steps = {}
    for decay in {*own.values(), 0.0}:
        changed = variants.with_decays(training, dict.fromkeys(own, decay))
        steps[decay] = _rerun(evidence, variants.Variant("", changed), 1)
    decays: dict[str, float | None] = {}
    for name, decay in own.items():
        before, expected = paths.before[name], paths.torch[1][name]
        actual = paths.jax[1].get(name, expected)
        fits = [d for d, x in steps.items() if x and near(x.states[1][name], actual, before)]
        if fits:  # all fit if the weight is zero
            decays[name] = None if len(fits) == len(steps) else fits[0]
        else:
            off, rate = proportion(before, actual - expected), float(settings[name]["lr"])
            decays[name] = float(f"{decay - off / rate:.5g}") if off and rate else None
    known = {np.ndim(paths.before[name]): d for name, d in decays.items() if d is not None}
    others = set(known.values())  # a weight without a known decay has that of similar weights
    full = {
        name: _first(decay, known.get(np.ndim(paths.before[name])), *others, own[name])
        for name, decay in decays.items()
    }
    if full != own:
        yield variants.Variant(_decay_text(own, full), variants.with_decays(training, full))


def _first(*decays: float | None) -> float:
    """Return the first of some decays that is known."""
    return next(decay for decay in decays if decay is not None)


def _decay_text(own: Mapping[str, float], decays: Mapping[str, float]) -> str:
    """Say how JAX's weight decays differ from torch's."""
    changed = {n: d for n, d in decays.items() if d != own[n]}
    values, decayed = set(changed.values()), {n for n in own if own[n]}
    if len(everywhere := set(decays.values())) == 1 and len(set(own.values())) > 1 and decayed:
        (value,), largest = everywhere, max(own.values())
        if value not in (0.0, largest):
            return (
                f"the weight decay is {value:g} for all weights{_default(value)}, torch uses "
                f"{largest:g} for {len(decayed)} of {len(own)}"
            )
    if len(values) == 1 and set(changed) == decayed:
        value = values.pop()
        if not value:
            return "the weight decay is missing"
        largest = max(own.values())
        return f"the weight decay is {value:g}{_default(value)}, torch uses {largest:g}"
    if set(changed) == set(own) - decayed:
        return "the weight decay applies to all weights"
    parts = []
    for text, names in (
        ("is not applied to {}, which torch decays", [n for n, d in changed.items() if not d]),
        ("is applied to {}, which torch does not decay", [n for n in changed if not own[n]]),
        ("of {} has another value", [n for n, d in changed.items() if d and own[n]]),
    ):
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            parts.append(text.format(", ".join(names[:3]) + more))
    return f"the weight decay {' and '.join(parts)}"


def _default(decay: float) -> str:
    return " (optax.adamw's default)" if decay == 1e-4 else ""


def proportion(x: Any, y: Any) -> float | None:
    """Return the factor between two arrays if they are proportional and differ, or else None."""
    if np.size(x) < 2:
        return None  # two numbers are always proportional
    factor = float(np.vdot(x, y).real / (np.vdot(x, x).real or 1.0))
    proportional = np.linalg.norm(y - factor * x) <= 1e-9 * np.linalg.norm(y)
    return factor if factor and abs(factor - 1) > 1e-6 and proportional else None


def near(x: Any, y: Any, before: Any) -> bool:
    """Whether two weights differ by at most 1e-9 of their change."""
    size = float(np.max(np.abs(x - before), initial=0.0))
    floor = 4 * float(np.finfo(np.float64).eps) * float(np.max(np.abs(before), initial=0.0))
    return bool(np.max(np.abs(x - y), initial=0.0) <= max(1e-9 * size, floor))


def near_states(expected: Mapping[int, State], actual: Mapping[int, State], before: State) -> bool:
    """Whether the weights of both frameworks are near each other after every compared step."""
    return all(
        near(x, actual[step][name], before[name])
        for step, weights in expected.items()
        for name, x in weights.items()
        if name in actual.get(step, {})
    )


def _counts_micro_batches(state: Any) -> bool:
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(state)]
    return any(getattr(key, "name", None) == "mini_step" for path in paths for key in path)
