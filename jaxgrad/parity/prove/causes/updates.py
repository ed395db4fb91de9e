"""Find why updates differ: train in torch again, with one setting changed."""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from jaxgrad.parity.prove.causes import schedules
from jaxgrad.parity.prove.causes.acceptance import Compared, confirms, either, may_confirm, settled
from jaxgrad.parity.prove.causes.numbers import proportion
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.record.jax_side.loop import Loop
from jaxgrad.parity.prove.record.jax_side.port import Gradients
from jaxgrad.parity.prove.record.jax_side.program import flat
from jaxgrad.parity.prove.record.torch_side.side import Differentiated, Steps
from jaxgrad.parity.prove.text import counted
from jaxgrad.parity.prove.training import Training
from jaxgrad.parity.prove.training_steps import clipping
from jaxgrad.parity.prove.training_steps.trajectories import Trajectories, first_steps
from jaxgrad.parity.prove.wording import (
    NO_DIFFERENCE,
    Difference,
    InJax,
    Missing,
    Mutual,
    Setting,
    Told,
)


if TYPE_CHECKING:
    from jaxgrad.parity.prove.record.torch_side.variants import Variant

Compare = Callable[[Trajectories], list[Compared]]
_PAIRS = 2  # changes that explain the first steps, to each of which a second change is added
TESTED = "rerunning torch with {} reproduces JAX's weights"


class Partial(NamedTuple):
    """A change that explains the first step that differs, but not all steps."""

    variant: Variant
    paths: Trajectories  # with the change
    step: int  # the first step that differs with the change


class Search:
    """The changes to torch's training step that were tried, each in torch itself.

    Args:
        evidence: The evidence of the proof.
        training: The user's training step.
        paths: The weights of both frameworks.
        compare: Function that compares the weights of both frameworks after every step.
        step: The first step that differs.
    """

    def __init__(
        self, evidence: Evidence, training: Training, paths: Trajectories, compare: Compare,
        step: int,
    ) -> None:  # fmt: skip
        self.evidence, self.training, self.paths = evidence, training, paths
        self.compare, self.step, self.last = compare, step, max(paths.torch)
        self.every = True  # whether every change was tried

    def guess(self, name: str) -> tuple[str, bool]:
        """Describe the change with which torch would train as JAX does; whether it is confirmed.

        Args:
            name: The first weight that differs.
        """
        if self.evidence.rerunnable:
            cause, confirmed = self._tested()
            if cause:
                return cause, confirmed
        reference = self.evidence.reference
        repeated = _of_micro_batches(self.evidence, self.training, self.paths).says(reference)
        return repeated or self._observed(name).says(reference), False

    def _observed(self, name: str) -> Difference:
        """Describe the difference of a weight, if it is of a known kind."""
        if not self.evidence.rerunnable:
            return _observed(self.paths, name)
        from jaxgrad.parity.prove.record.torch_side import loop

        held = name in loop.settings(self.training, self.evidence.torch_side.module)
        compared = {judged.name for judged in self.evidence.judged_gradients[0]}
        return _observed(self.paths, name, held=held, has_gradient=name in compared)

    def _tested(self) -> tuple[str, bool]:
        found, partial = self._accepted(self.training, None, self.paths, self.step)
        reference = self.evidence.reference
        wrong = {
            i: step
            for i, x in enumerate(found)
            if x.schedule
            and (step := schedules.later_step(self.evidence, x, self.last)) is not None
        }
        lasting = [x for i, x in enumerate(found) if i not in wrong]
        if lasting:
            return settled(self._texts(lasting), TESTED, every=self.every)
        if observed := self._observed_rates():
            return settled([observed.difference.says(reference)], TESTED, every=self.every)
        if wrong:
            texts = [found[i].difference.says(reference) for i in wrong]
            until = f"in {counted(self.last, 'step')}; given the same gradients, step "
            return (
                f"{either(texts)} (with this change torch gives JAX's weights {until}"
                f"{min(wrong.values())} still differs)",
                False,
            )
        partial = list({p.variant.difference.setting: p for p in partial}.values())
        pairs = []
        for first in partial[:_PAIRS]:
            variant = first.variant
            found, _ = self._accepted(variant.training, variant, first.paths, first.step)
            if variant.scales:  # which holds in all compared steps only with torch's own schedule
                found = [x for x in found if not (x.schedule or x.scales)]
            texts = self._texts(found)
            earlier, seen = variant.difference.says(reference), f"seen from step {first.step} on"
            pairs += [f"{earlier}, and {text}, {seen}" for text in texts]
        if pairs:
            return settled(pairs, TESTED, every=self.every, change="both changes")
        if len(partial) != 1 or partial[0].variant.scales:
            return "", False
        variant, _, step = partial[0]
        until = f"up to step {step - 1}, and step {step} still differs"
        text = variant.difference.says(reference)
        return f"{text} (with this change torch gives JAX's weights {until})", False

    def _observed_rates(self) -> Variant | None:
        """Return the variant with the measured learning rates of the port, if it explains all."""
        if not self.evidence.may_search("the learning rates of the port"):
            return None
        variant = schedules.observed(self.evidence, self.training, self.last, self._port_rates)
        changed = None if variant is None else self._rerun(variant, self.paths, self.last)
        if changed is None or not confirms(self.compare(self.paths), self.compare(changed)):
            return None
        return variant

    @functools.cached_property
    def _port_rates(self) -> np.ndarray | None:
        """The learning rates of the port in the compared steps, if they are known."""
        return schedules.port_rates(self.evidence, self.training, self.last)

    def _texts(self, found: Sequence[Variant]) -> list[str]:
        """Return the texts of different changes, each of which explains the difference."""
        kept: list[Variant] = []
        lasting = schedules.lasting(self.evidence, found)
        for variant in schedules.distinct(self.evidence, lasting, self.last):
            pairs = ((variant, other) for other in kept if not (variant.schedule or other.schedule))
            if not any(schedules.trains_alike(self.evidence, *pair) for pair in pairs):
                kept.append(variant)
        different = _different([variant.difference for variant in kept])
        return [x.says(self.evidence.reference) for x in different]

    def _accepted(
        self, training: Training, earlier: Variant | None, paths: Trajectories, step: int
    ) -> tuple[list[Variant], list[Partial]]:
        """Return the changes that explain all steps, and those that explain the first ones alone.

        Args:
            training: A training step.
            earlier: The change that explains the steps before, which clips in its way.
            paths: The weights that it gives, and JAX's.
            step: The first step that differs, until which each change is tried first.
        """
        accepted: list[Variant] = []
        partial: list[Partial] = []
        early, whole = self.compare(first_steps(paths, step)), self.compare(paths)
        if step == self.last:
            early = whole
        for tried in self._variants(training, paths):
            text = tried.difference.says(self.evidence.reference)
            if not self.evidence.may_search(text):
                self.every = False
                break
            variant = tried
            if earlier is not None and earlier.clip is not None:
                if tried.clip is not None:
                    continue
                variant = tried._replace(clip=earlier.clip, of_values=earlier.of_values)
            given = step == 1 and self._knows_gradients(training)
            changed = self._rerun(variant, paths, step, given=given)
            accepts = may_confirm if step < self.last else confirms
            if changed is None or not accepts(early, self.compare(changed)):
                continue
            if step < self.last or given:
                if not self.evidence.may_search(text):
                    self.every = False
                    break
                changed = self._rerun(variant, paths, self.last)
                if changed is None:
                    continue
                compared = self.compare(changed)
                if not confirms(whole, compared):
                    wrong = [c.step for c in compared if c.verdict == "fail"]
                    partial += [Partial(variant, changed, min(wrong))] if wrong else []
                    continue
            accepted.append(variant)
        return accepted, partial

    def _rerun(
        self, variant: Variant, paths: Trajectories, steps: int, *, given: bool = False
    ) -> Trajectories | None:
        """Train in torch with a variant; with `given`, from the gradients of the first step."""
        first = self._first if given else ()
        taken = _rerun(self.evidence, variant, steps, tuple(self.paths.torch), first)
        if taken is None:
            return None
        changed = paths.with_torch(taken)
        return changed if steps == self.last else first_steps(changed, steps)

    def _knows_gradients(self, training: Training) -> bool:
        """Whether the first step depends on the gradients and on no other result of a pass."""
        return training.after is None

    @functools.cached_property
    def _first(self) -> Sequence[Differentiated]:
        """The gradients of the first step's micro-batches, which no change of the step alters."""
        side, draws = self.evidence.torch_side, self.evidence.draws
        used = draws[: self.training.accumulate]
        return [side.differentiated(dataclasses.replace(x, state=draws[0].state)) for x in used]

    def _variants(self, training: Training, paths: Trajectories) -> Iterator[Variant]:
        from jaxgrad.parity.prove.record.torch_side import loop, port_numbers, variants

        evidence = self.evidence
        numbers = Loop(evidence.port, self.training, evidence.draws[0], evidence.trained).numbers()
        own = training is self.training
        rates = self._port_rates if own else schedules.port_rates(evidence, training, self.last)
        yield from schedules.hypotheses(evidence, training, numbers, self.last, rates)
        yield from _rates(evidence, training, paths)
        if schedules.other_rates(evidence, training, self.last, rates):
            return  # given the same gradients, nothing else differs
        yield from variants.late_decays(training)
        yield from _decays(evidence, training, paths)
        yield from _other_groups(evidence, training, paths)
        settings = loop.settings(training, evidence.torch_side.module)
        tried = variants.variants(training)
        for variant in clipping.in_order(evidence, self.training, numbers, tried):
            yield variant._replace(difference=_with_torchs(variant.difference, settings))
        yield from port_numbers.clips(training, numbers)
        yield from port_numbers.value_clips(training, numbers)
        yield from port_numbers.settings(training, evidence.torch_side.module, numbers)


def _with_torchs(difference: Difference, own: Mapping[str, Mapping[str, Any]]) -> Difference:
    """Add torch's value to a setting, if it is the same for all parameters.

    Args:
        difference: What a variant changes.
        own: The settings of torch's optimizer, by parameter.
    """
    if not isinstance(difference, Setting) or difference.torch:
        return difference
    name = difference.setting[0]
    values = {_value(settings, name) for settings in own.values()}
    value = values.pop() if len(values) == 1 else None
    return difference if value is None else dataclasses.replace(difference, torch=f"{value:g}")


def _value(settings: Mapping[str, Any], name: str) -> float | None:
    """Return a setting of torch's optimizer; betas are numbered from 1."""
    betas = settings.get("betas", ())
    pair = name[:-1] == "beta" and name[-1] in "12" and len(betas) == 2
    value = betas[int(name[-1]) - 1] if pair else settings.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)


def _different(found: Sequence[Difference]) -> list[Difference]:
    """Leave out differences of the same setting, of which one may have torch's number too."""
    longest: dict[tuple[str, str], Difference] = {}
    for x in found:
        other = longest.get(x.setting, x)
        longest[x.setting] = max(other, x, key=lambda each: len(each.of_jax))
    return list(longest.values())


def _of_micro_batches(evidence: Evidence, training: Training, paths: Trajectories) -> Difference:
    """Say that the port's transformation makes an update at each micro-batch, if it does.

    torch's optimizer makes one update for all micro-batches of a step. The weights that the port
    has at each micro-batch tell whether it changes them, and the counters in its state how often
    the transformations in it were called.
    """
    count = training.accumulate
    if count < 2 or _counts_micro_batches(paths.opt_state):
        return NO_DIFFERENCE
    if _moves_at_each_micro_batch(evidence, training):
        return Told(
            "the transformation changes the weights at each micro-batch, torch's optimizer after "
            f"all {count}; wrap it in optax.MultiSteps(tx, {count})",
            f"the optimizer changes the weights after all {count} micro-batches, JAX's "
            "transformation at each",
        )
    steps = max(paths.torch)
    for state, number in _counters(paths.opt_state):
        if number == count * steps:
            made = f"{counted(number, 'update')} in {counted(steps, 'step')}"
            return Told(
                f"{state} counts {made}: the transformation in it is called at each micro-batch, "
                f"torch's optimizer once for all {count}. Give it the mean of their "
                f"gradients, as optax.MultiSteps(..., {count}) around it does",
                f"the optimizer is called once for all {count} micro-batches. In JAX, {state} "
                f"counts {made}: the transformation in it is called at each",
            )
    return NO_DIFFERENCE


def _moves_at_each_micro_batch(evidence: Evidence, training: Training) -> bool:
    """Return whether the port's weights differ between all micro-batches of the first step."""
    seen: list[list[np.ndarray]] = []

    def backward(number: int, params: list[Any]) -> Gradients:
        seen.append([np.asarray(x) for x in params])
        draw = evidence.draws[number % len(evidence.draws)]
        return evidence.gradients(draw, leaves=[*params, *flat(draw.inputs)[1]])

    loop = Loop(evidence.port, training, evidence.draws[0], evidence.trained)
    loop.step(backward)
    trained = [i for i, flag in enumerate(loop.trained) if flag]
    return all(
        any(not np.array_equal(x[i], y[i]) for i in trained) for x, y in itertools.pairwise(seen)
    )


def _counters(state: Any) -> Iterator[tuple[str, int]]:
    """Yield the name of each state of optax that has a counter of updates, and its value."""
    if isinstance(state, tuple) and hasattr(state, "_fields"):
        count: Any = getattr(state, "count", None)
        if np.ndim(count) == 0 and np.issubdtype(np.asarray(count).dtype, np.integer):
            yield type(state).__name__, int(np.asarray(count))
    if isinstance(state, tuple | list):
        for part in state:
            yield from _counters(part)
    elif isinstance(state, Mapping):
        for part in state.values():
            yield from _counters(part)


def _observed(
    paths: Trajectories, name: str, *, held: bool = True, has_gradient: bool = False
) -> Difference:
    """Describe the difference of a weight, if it is of a known kind.

    Args:
        paths: The weights of both programs after each step.
        name: The weight.
        held: Whether torch's optimizer holds the weight.
        has_gradient: Whether torch computes a gradient for it.
    """
    before, expected, actual = paths.before[name], paths.torch, paths.jax
    if all(np.array_equal(weights[name], before) for weights in expected.values()):
        if not held:
            return Told(
                "torch's optimizer does not hold the weight, but JAX's changes it; name the leaves "
                "that are trained with trainable=, or leave the weight out of the transformation",
                "torch's optimizer does not hold the weight, but JAX's changes it; give torch's "
                "optimizer the weight too",
            )
        if has_gradient:
            return Mutual("torch's optimizer does not change the weight, JAX's does")
        return Told(
            "torch skips the weight, which has no gradient, but JAX's optimizer changes it; leave "
            "it out of the transformation, or give jaxgrad.optim the None of jaxgrad.grad",
            "torch skips the weight, which has no gradient, but JAX's optimizer changes it",
        )
    if np.array_equal(actual[1][name], before) and not np.array_equal(expected[1][name], before):
        if not held:
            return Mutual(
                "JAX does not change the weight in step 1, torch does, and not in its optimizer"
            )
        return Mutual("JAX's optimizer does not change the weight in step 1, torch's does")
    factor = proportion(expected[1][name] - before, actual[1][name] - before)
    if factor is not None:
        return InJax(f"the first step is {factor:.6g} times torch's")
    return NO_DIFFERENCE


def _rerun(
    evidence: Evidence,
    variant: Variant,
    steps: int,
    kept: Sequence[int] | None = None,
    first: Sequence[Differentiated] = (),
) -> Steps | None:
    """Train in torch with a variant; None if the optimizer lacks its setting."""
    from jaxgrad.parity.prove.record.torch_side.variants import clipping_by

    try:
        with clipping_by(variant), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return evidence.torch_side.steps(
                variant.training, evidence.draws, steps, reruns=0, kept=kept, first=first
            )
    except Exception:
        return None


def _rates(evidence: Evidence, training: Training, paths: Trajectories) -> Iterator[Variant]:
    """Yield the learning rate that the first step shows, if one factor fits all weights.

    If a scheduler that the optimizer steps itself makes this change in every step, as an
    exponential one does, the schedule may as well be one step ahead: then both are yielded.
    """
    from jaxgrad.parity.prove.record.torch_side import loop, variants

    before, expected, actual = paths.before, paths.torch[1], paths.jax[1]
    moved = {n: x - before[n] for n, x in expected.items() if n in actual and np.size(x) > 1}
    factors = [proportion(x, actual[n] - before[n]) for n, x in moved.items() if np.any(x)]
    known = [f for f in factors if f is not None]
    if known and len(known) == len(factors) and np.ptp(known) <= 1e-6 * abs(known[0]):
        factor = float(f"{known[0]:.6g}")
        changed = variants.with_settings(training, lr=lambda x: x * factor)
        text, within = "the learning rate is", ""
        if loop.has_scheduler(training, evidence.torch_side.module):
            count = len(paths.torch)
            within = " in the compared step" if count == 1 else f" in the {count} compared steps"
        rate = Told(
            f"{text} {factor:g} times torch's{within}",
            f"{text} {1 / factor:.6g} times JAX's{within}",
        )
        yield variants.Variant(rate, changed, scales=bool(within))
        if training.scheduler is None:
            rates = schedules.used_rates(evidence, training, max(paths.torch) + 1)
            if np.allclose(rates[1:], factor * rates[:-1], rtol=1e-6, atol=0.0):
                yield variants.Variant(variants.AHEAD, changed, schedule=True)


def _decays(evidence: Evidence, training: Training, paths: Trajectories) -> Iterator[Variant]:
    """Yield the weight decays that explain how each weight changed in the first step."""
    from jaxgrad.parity.prove.record.torch_side import loop, variants

    settings = loop.settings(training, evidence.torch_side.module)
    if not all("weight_decay" in group for group in settings.values()):
        return
    own: dict[str, float] = {n: group["weight_decay"] for n, group in settings.items()}
    ((*rates,),) = loop.learning_rates(training, evidence.torch_side.module, 1)
    groups = loop.groups(training, evidence.torch_side.module)
    steps = {}
    for decay in {*own.values(), 0.0}:
        changed = variants.with_decays(training, dict.fromkeys(own, decay))
        steps[decay] = _rerun(evidence, variants.Variant(NO_DIFFERENCE, changed), 1)
    decays: dict[str, float | None] = {}
    for name, decay in own.items():
        before, expected = paths.before[name], paths.torch[1][name]
        actual = paths.jax[1].get(name, expected)
        fits = [d for d, x in steps.items() if x and near(x.states[1][name], actual, before)]
        if fits:  # all fit if the weight is zero
            decays[name] = None if len(fits) == len(steps) else fits[0]
        else:
            off, rate = proportion(before, actual - expected), rates[groups[name]]
            decays[name] = float(f"{decay - off / rate:.5g}") if off and rate else None
    completed = [
        variants.Variant(_decay(own, full), variants.with_decays(training, full))
        for full in _completed(evidence, training, decays, own, paths)
    ]
    if len(completed) > 1:  # later steps may tell them apart
        completed = [max(completed, key=lambda x: _agreeing_weights(evidence, x, paths))]
    yield from completed


def _other_groups(evidence: Evidence, training: Training, paths: Trajectories) -> Iterator[Variant]:
    """Yield the parameter groups whose settings explain how each weight changed in the first step.

    A weight that fits its own group stays in it.
    """
    from jaxgrad.parity.prove.record.torch_side import loop, variants

    own = loop.groups(training, evidence.torch_side.module)
    numbers = sorted(set(own.values()))
    if len(numbers) < 2:
        return
    every = [
        variants.Variant(NO_DIFFERENCE, variants.with_groups(training, dict.fromkeys(own, n)))
        for n in numbers
    ]
    taken = [_rerun(evidence, variant, 1) for variant in every]
    steps = {n: x.states[1] for n, x in zip(numbers, taken, strict=True) if x is not None}
    groups: dict[str, int] = {}
    for name, number in own.items():
        before, actual = paths.before[name], paths.jax[1].get(name)
        fits = [
            n for n, state in steps.items() if actual is None or near(state[name], actual, before)
        ]
        groups[name] = number if number in fits else next(iter(fits), number)
    moved = {name: n for name, n in groups.items() if n != own[name]}
    if moved:
        yield variants.Variant(_moved(own, moved), variants.with_groups(training, groups))


def _moved(own: Mapping[str, int], moved: Mapping[str, int]) -> Difference:
    """Say which weights have the settings of another parameter group than in torch."""
    clauses = []
    for pair in dict.fromkeys((own[name], n) for name, n in moved.items()):
        names = [name for name, n in moved.items() if (own[name], n) == pair]
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        listed, many = f"{', '.join(names[:3])}{more}", len(names) > 1
        has, it = ("have", "them") if many else ("has", "it")
        torchs, jaxs = (_group(own, moved, n) for n in pair)
        clauses.append(
            (
                f"{listed} {has} the settings of parameter {jaxs}, torch has {it} in {torchs}",
                f"{listed} {has} the settings of parameter {torchs}, JAX has {it} in {jaxs}",
            )
        )
    return Told(*(" and ".join(texts) for texts in zip(*clauses, strict=True)))


def _group(own: Mapping[str, int], moved: Mapping[str, int], number: int) -> str:
    """Name a parameter group, with a weight that both programs have in it."""
    shared = next((name for name, n in own.items() if n == number and name not in moved), "")
    return f"group {number} (that of {shared})" if shared else f"group {number}"


def _agreeing_weights(evidence: Evidence, variant: Variant, paths: Trajectories) -> int:
    """Return how many weights agree after the last step that is compared."""
    last = max(paths.torch)
    taken = _rerun(evidence, variant, last, (last,))
    states = {} if taken is None else taken.states[last]
    return sum(
        near(states[name], paths.jax[last].get(name, x), paths.before[name])
        for name, x in paths.torch[last].items()
        if name in states
    )


def _completed(
    evidence: Evidence,
    training: Training,
    decays: Mapping[str, float | None],
    own: Mapping[str, float],
    paths: Trajectories,
) -> Iterator[dict[str, float]]:
    """Yield complete sets of decays: a weight that is zero does not show its own.

    Such a weight has the decay of weights of its rank, or that of the weights in torch's group.
    """
    from jaxgrad.parity.prove.record.torch_side import loop

    groups = loop.groups(training, evidence.torch_side.module)
    found: list[dict[str, float]] = []
    for alike in ({name: np.ndim(paths.before[name]) for name in own}, groups):
        known: dict[int | None, list[float]] = {}
        for name, decay in reversed([*decays.items()]):
            if decay is not None:
                known.setdefault(alike.get(name), []).append(decay)
        others = [x for values in known.values() for x in values]
        full = {
            name: _first(decay, *_usual(known.get(alike.get(name), [])), *others, own[name])
            for name, decay in decays.items()
        }
        if full != own and full not in found:
            found.append(full)
    yield from found


def _usual(decays: Sequence[float]) -> list[float]:
    """Return the most frequent of some decays, if there are any."""
    return [decay for decay, _ in collections.Counter(decays).most_common(1)]


def _first(*decays: float | None) -> float:
    """Return the first of some decays that is known."""
    return next(decay for decay in decays if decay is not None)


def _decay(own: Mapping[str, float], decays: Mapping[str, float]) -> Difference:
    """Say how JAX's weight decays differ from torch's."""
    changed = {n: d for n, d in decays.items() if d != own[n]}
    values, decayed = set(changed.values()), {n for n in own if own[n]}
    if len(everywhere := set(decays.values())) == 1 and len(set(own.values())) > 1 and decayed:
        (value,), largest = everywhere, max(own.values())
        if value not in (0.0, largest):
            some = f"for {len(decayed)} of {len(own)}"
            return Told(
                f"the weight decay is {value:g} for all weights{_default(value)}, torch uses "
                f"{largest:g} {some}",
                f"the weight decay is {largest:g} {some} weights, JAX uses {value:g} for all",
            )
    if len(values) == 1 and set(changed) == decayed:
        value = values.pop()
        if not value:
            return Missing("the weight decay")
        largest = max(own.values())
        return Setting("the weight decay", f"{value:g}{_default(value)}", f"{largest:g}")
    if set(changed) == set(own) - decayed:
        return Told(
            "the weight decay applies to all weights",
            "the weight decay does not apply to all weights, JAX's does",
        )
    parts = []
    for text, names in (
        ("is not applied to {}, which torch decays", [n for n, d in changed.items() if not d]),
        ("is applied to {}, which torch does not decay", [n for n in changed if not own[n]]),
        ("of {} has another value", [n for n, d in changed.items() if d and own[n]]),
    ):
        if names:
            more = f" and {len(names) - 3} more" if len(names) > 3 else ""
            parts.append(text.format(", ".join(names[:3]) + more))
    return InJax(f"the weight decay {' and '.join(parts)}")


def _default(decay: float) -> str:
    return " (optax.adamw's default)" if decay == 1e-4 else ""


def near(x: Any, y: Any, before: Any) -> bool:
    """Whether two weights differ by at most 1e-9 of their change."""
    size = float(np.max(np.abs(x - before), initial=0.0))
    floor = 4 * float(np.finfo(np.float64).eps) * float(np.max(np.abs(before), initial=0.0))
    return bool(np.max(np.abs(x - y), initial=0.0) <= max(1e-9 * size, floor))


def _counts_micro_batches(state: Any) -> bool:
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(state)]
    return any(getattr(key, "name", None) == "mini_step" for path in paths for key in path)
