"""Compare updates by gradients that torch's training loop clips, and by others that it does not.

The gradients of the compared steps are often too small to be clipped, so that a port without
clipping makes the same steps. Both optimizers are therefore given scaled gradients.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from jaxgrad.parity.prove.causes import schedules
from jaxgrad.parity.prove.causes.acceptance import MARGIN, settled
from jaxgrad.parity.prove.evidence import Evidence, with_cause
from jaxgrad.parity.prove.record.jax_side.loop import Loop
from jaxgrad.parity.prove.record.jax_side.port import Gradients
from jaxgrad.parity.prove.report import Finding, Surface
from jaxgrad.parity.prove.training import Training
from jaxgrad.parity.prove.wording import Told


if TYPE_CHECKING:
    from jaxgrad.parity.prove.record.torch_side.variants import Variant

_TRIED = [4.0**k for k in range(-12, 13)]  # factors of the gradients
_LEAST_NORM = 10.0  # of large gradients, for which the 1e-6 that torch adds to a norm is negligible
_LARGE, _SMALL = 8.0, 0.5  # relative to the gradients that are just clipped, and just not clipped
_MORE = 1.1  # times the update without larger moments, which a bound then exceeds
_MOMENTS = (1e24, 1e32)  # factors of the moments in the state of an optimizer
_SHAPE = (1.0, -1.0, 0.5, 2.0)  # factors of the gradients in turn, so that Adam shows their sizes


class Bounds(NamedTuple):
    """The factors of the gradients around the bound above which torch clips them."""

    below: float | None  # the largest factor whose gradients are not clipped, if there is one
    above: float | None  # the smallest factor whose gradients are clipped


def surface(evidence: Evidence, training: Training) -> Surface | None:
    """Judge updates by clipped gradients; None if torch does not clip, or cannot be rerun."""
    bounds = find(evidence, training) if evidence.rerunnable else None
    if bounds is None:
        return None
    clip, norm = _name(training), norm_of(evidence)
    if bounds.above is None or evidence.port.weights.not_one_to_one:
        if bounds.above is not None and bounds.above <= 1.0:
            return None  # the gradients of the compared steps were clipped
        text = f"{clip} does not change the gradients of the first step, whose norm is {norm:.2g}"
        return Surface("updates", "pass", f"{text}, so that clipping is not compared")
    factors = factors_around(bounds, norm)
    found = schedules.replay(evidence, training, len(factors), factors=factors)
    kinds = "above" if bounds.below is None else "below and above"
    if found is None:
        text = f"given gradients {kinds} {clip}, {schedules.agree(evidence, len(factors))}"
        return Surface("updates", "pass", text)
    # These are more steps than the compared ones: a schedule may differ only now.
    plain = schedules.replayed(evidence, training, len(factors))
    if plain.verdict == "fail":
        return plain
    size = abs(factors[found.step - 1]) * norm
    place = "above" if abs(factors[found.step - 1]) >= bounds.above else "below"
    text = (
        f"given a gradient of norm {size:.3g}, {place} {clip}, the update in step {found.step} is "
        f"off by {found.share:.2g} (relative to the largest update)"
    )
    finding = with_cause(
        evidence,
        Finding("updates", found.name, evidence.jax_place(found.name), text),
        lambda: _cause(evidence, training, factors, found.share),
    )
    text = f"given gradients {kinds} {clip}, step {found.step} differs"
    return Surface("updates", "fail", text, findings=(finding,))


def _name(training: Training) -> str:
    if training.clip is None:
        return "the bound of torch's clipping"
    return "clip=" if callable(training.clip) else f"clip={training.clip:g}"


def norm_of(evidence: Evidence) -> float:
    """Return the norm of the first step's gradients."""
    return schedules.norm_of(schedules.gradients(evidence))


def factors_around(bounds: Bounds, norm: float) -> list[float]:
    """Return the factors of the gradients in each step: some are clipped, some are not.

    Args:
        bounds: The factors around the bound of clipping.
        norm: The norm of the gradients without a factor.
    """
    assert bounds.above is not None
    large = max(_LARGE * bounds.above, _LEAST_NORM / norm if norm else 0.0)
    small = large / 64 if bounds.below is None else _SMALL * bounds.below
    return [x * factor for x in _SHAPE for factor in (small, large)]


def find(evidence: Evidence, training: Training) -> Bounds | None:
    """Return the factors of the gradients around the bound of torch's clipping.

    Returns:
        None if torch's training loop does not clip gradients.
    """
    if training.clip is None:
        return _of_calls(evidence, training)
    acts: list[bool] = []

    def probe(parameters: list[Any]) -> None:
        """Clip the gradients at each size, and leave them as they are."""
        own = [(p, p.grad.clone()) for p in parameters if p.grad is not None]
        for factor in _TRIED:
            given = [g * factor for _, g in own]
            for (p, _), g in zip(own, given, strict=True):
                p.grad = g.clone()
            _clip(training.clip, parameters)
            pairs = zip(own, given, strict=True)
            acts.append(any(bool((p.grad != g).any()) for (p, _), g in pairs))
        for p, g in own:
            p.grad = g

    _step(evidence, dataclasses.replace(training, clip=probe, accumulate=1))
    first = next((k for k, flag in enumerate(acts) if flag), None)
    if first is None:
        return Bounds(None, None)
    return Bounds(_TRIED[first - 1] if first else None, _TRIED[first])


def _clip(clip: Any, parameters: list[Any]) -> None:
    from torch import nn

    if callable(clip):
        clip(parameters)
    else:
        nn.utils.clip_grad_norm_(parameters, clip)


def _of_calls(evidence: Evidence, training: Training) -> Bounds | None:
    """Return the factors around the bound to which a hook of torch's optimizer clips."""
    seen: list[float] = []
    with _recording(seen):
        _step(evidence, training)
    bound = min((x for x in seen if math.isfinite(x) and x > 0), default=None)
    return None if bound is None else Bounds(bound / 2, bound * 2)


@contextlib.contextmanager
def _recording(seen: list[float]) -> Iterator[None]:
    """Record the largest factor of the gradients that each call of torch does not clip."""
    from torch.nn import utils

    norm_, value_ = utils.clip_grad_norm_, utils.clip_grad_value_

    def by_norm(parameters: Any, max_norm: float, *args: Any, **kwargs: Any) -> Any:
        norm = norm_(parameters, max_norm, *args, **kwargs)
        seen.append(float(max_norm) / float(norm) if float(norm) else math.inf)
        return norm

    def by_value(parameters: Any, clip_value: float, *args: Any, **kwargs: Any) -> None:
        tensors = [parameters] if hasattr(parameters, "grad") else list(parameters)
        sizes = [float(p.grad.abs().max()) for p in tensors if p.grad is not None and p.numel()]
        seen.append(float(clip_value) / max(sizes, default=0.0) if any(sizes) else math.inf)
        value_(tensors, clip_value, *args, **kwargs)

    places: list[Any] = [utils, utils.clip_grad]
    try:
        for place in places:
            place.clip_grad_norm_, place.clip_grad_value_ = by_norm, by_value
        yield
    finally:
        for place in places:
            place.clip_grad_norm_, place.clip_grad_value_ = norm_, value_


def _step(evidence: Evidence, training: Training) -> None:
    """Make one step of torch with the first gradients."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = [schedules.gradients(evidence)]
        list(evidence.torch_side.replay(training, evidence.draws[0], given))


def in_order(
    evidence: Evidence, training: Training, numbers: Sequence[float], tried: Iterable[Variant]
) -> list[Variant]:
    """Return variants, those that clip the update first if the port's transformation does so.

    Of two variants that train alike, a search keeps the first.

    Args:
        evidence: The evidence of the proof.
        training: The user's training step.
        numbers: The numbers in the program of the port's transformation.
        tried: The variants.
    """
    first = _bounds_update(evidence, training, numbers)
    return sorted(tried, key=lambda variant: first and not variant.of_update)


def _bounds_update(evidence: Evidence, training: Training, numbers: Sequence[float]) -> bool:
    """Return whether the port's transformation bounds the norm of its update by a number in it.

    One that clips after the optimizer does. As long as its updates are smaller than the bound it
    trains as one that does not clip, so training does not tell the two apart. Here the moments in
    the state of the optimizer are made so large that only a bound can hold the update.
    """
    loop = Loop(evidence.port, training, evidence.draws[0], evidence.trained)
    leaves = evidence.jax_gradients[0].leaves[: len(evidence.port.program.param_paths)]
    gradients = Gradients([], leaves, {})
    loop.step(lambda *_: gradients)
    own, *norms = (loop.norm_of_update(gradients, factor) for factor in (1.0, *_MOMENTS))
    if not math.isfinite(sum(norms)) or not _close(*norms) or norms[0] <= _MORE * own:
        return False
    rates = schedules.used_rates(evidence, training, 2)[1]
    factors = (1.0, *(float(rate) for rate in rates))  # the clip follows the learning rate, or not
    return any(_close(n * factor, norms[0]) for n in numbers for factor in factors)


def _close(x: float, y: float) -> bool:
    return math.isclose(x, y, rel_tol=1e-4)


def _cause(
    evidence: Evidence, training: Training, factors: Sequence[float], share: float
) -> tuple[str, bool]:
    """Return the change to torch's clipping with which all steps agree; whether it is confirmed."""
    from jaxgrad.parity.prove.record.torch_side import port_numbers, variants

    if not math.isfinite(share):
        return "", False
    numbers = Loop(evidence.port, training, evidence.draws[0], evidence.trained).numbers()
    none = Told("the gradients are not clipped", "the gradients are clipped, JAX's are not")
    tried = [
        *((variants.Variant(none, dataclasses.replace(training, clip=None)),)
          if training.clip is not None else ()),
        *variants.clips(training),
        *port_numbers.clips(training, numbers),
    ]  # fmt: skip
    allowed = min(schedules.TOLERANCE, share / MARGIN)
    port = list(schedules.weights_of_port(evidence, training, factors))

    def agrees(variant: variants.Variant, found: Sequence[variants.Variant]) -> bool:
        differs = schedules.replay(
            evidence, variant.training, len(factors), allowed, factors=factors, port_steps=port
        )
        alike = (schedules.trains_alike(evidence, variant, x) for x in found)
        return differs is None and not any(alike)

    tried = in_order(evidence, training, numbers, tried)
    found, every = schedules.agreeing(evidence, tried, agrees)
    kept = schedules.lasting(evidence, found)
    texts = [x.difference.says(evidence.reference) for x in kept]
    return settled(texts, schedules.REPLAYED, every=every)
