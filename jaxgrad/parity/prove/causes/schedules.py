"""Compare learning rates over the whole training run, without training.

torch's scheduler is compared with the port's schedule, if the user gives it. Both optimizers are
also given the same gradients in every step, which shows the schedule inside a transformation.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from jaxgrad.parity.prove.causes.acceptance import MARGIN, settled
from jaxgrad.parity.prove.causes.numbers import proportion
from jaxgrad.parity.prove.causes.used_rates import rates as used_rates_of_port
from jaxgrad.parity.prove.evidence import Evidence, with_cause
from jaxgrad.parity.prove.record.adapters import ProofError, name_of
from jaxgrad.parity.prove.record.jax_side.loop import Loop
from jaxgrad.parity.prove.record.jax_side.port import Gradients
from jaxgrad.parity.prove.record.jax_side.program import literals
from jaxgrad.parity.prove.record.torch_side.side import State
from jaxgrad.parity.prove.report import Finding, Surface
from jaxgrad.parity.prove.text import counted
from jaxgrad.parity.prove.training import Training
from jaxgrad.parity.prove.wording import Difference, Mutual, Told


if TYPE_CHECKING:
    from jaxgrad.parity.prove.record.torch_side.variants import Variant

DIFFER = "the schedules differ"
TOLERANCE = 1e-6  # of the largest learning rate or update: schedules may be computed in float32
REPLAYED = "replaying torch with {} gives JAX's weights"
SCHEDULED = "torch's scheduler with {} gives JAX's rates in every step"
COUNTED = "steps count from 1"
SCHEDULE = "a proof with Training(schedule=)"  # `port` has no such argument
_SECONDS = 2.0  # that replaying may take, estimated from these:
_PER_TENSOR, _PER_ELEMENT = 2e-4, 4e-8
_SIZES = (1.0, 1 / 512, 512.0, 1 / 64, 64.0, 1 / 8, 8.0, 4096.0)  # of gradients of changing norms
_LEAST_MEASURED = 3  # steps, in which a momentum shows


class Divergence(NamedTuple):
    """The first step in which the same gradients lead to different updates."""

    step: int
    name: str
    rates: list[float]  # torch's, one for each parameter group
    share: float  # the difference relative to the largest update
    factor: float | None  # JAX's update relative to torch's, if they are proportional


def surface(evidence: Evidence, training: Training, steps: int) -> Surface:
    """Judge the learning rates of all steps; the first `steps` have been judged by training."""
    if not evidence.rerunnable:
        text = "later steps are not compared, because a dump cannot be rerun"
        return Surface("updates", "pass", text)
    total, affordable, is_all = _range(evidence, training, steps)
    parts = []
    if training.schedule is not None:
        parts.append(_compared(evidence, training, total))
    if not parts or parts[0].verdict == "pass":
        parts.append(replayed(evidence, training, affordable))
    texts = [part.text for part in parts]
    if not is_all:
        texts.append("pass total= to compare the schedule of the whole training run")
    elif affordable < total and training.schedule is None:
        texts.append(f"{SCHEDULE} compares the schedule of all {total} steps")
    findings = tuple(f for part in parts for f in part.findings)
    return Surface("updates", "fail" if findings else "pass", "; ".join(texts), findings=findings)


class Schedules(NamedTuple):
    """The learning rates of one parameter group, by step, in both frameworks."""

    torch: np.ndarray
    jax: np.ndarray
    differ: np.ndarray  # a bool for each step
    group: int | None  # its number, if there are several

    @property
    def first(self) -> int:
        """The first step in which they differ, counted from 1."""
        return int(np.argmax(self.differ)) + 1


def given(evidence: Evidence, training: Training, total: int) -> Schedules | None:
    """Compare torch's scheduler, stepped without training, with the port's schedule.

    Returns:
        The group that differs first, or None if all groups agree or there is no schedule.
    """
    from jaxgrad.parity.prove.record.torch_side import loop

    if training.schedule is None:
        return None
    expected = np.array(loop.learning_rates(training, evidence.torch_side.module, total))
    actual = _rates_of(training.schedule, expected)  # (step, group)
    differ = _differs(actual, expected)
    if not differ.any():
        return None
    step = int(np.argmax(differ.any(1)))
    group = int(np.argmax(differ[step]))
    several = group if differ.shape[1] > 1 else None
    return Schedules(expected[:, group], actual[:, group], differ[:, group], several)


class Failing(NamedTuple):
    """The first step in which the given schedules differ, and the surface that says so."""

    step: int
    surface: Surface


def failing(evidence: Evidence, training: Training, steps: int) -> Failing | None:
    """Compare the schedules that the user gives; None if they agree or there are none."""
    if training.schedule is None or not evidence.rerunnable:
        return None
    found = given(evidence, training, _range(evidence, training, steps)[0])
    return None if found is None else Failing(found.first, _different(evidence, training, found))


def _compared(evidence: Evidence, training: Training, total: int) -> Surface:
    """Judge the schedules that the user gives."""
    found = given(evidence, training, total)
    if found is None:
        where = "in step 1" if total == 1 else f"in all {total} steps"
        return Surface("updates", "pass", f"the schedules agree {where}")
    return _different(evidence, training, found)


def _different(evidence: Evidence, training: Training, found: Schedules) -> Surface:
    """Say in which steps the schedules differ, and with which change torch's has JAX's rates."""
    total, first = len(found.differ), found.first - 1
    expected, actual = found.torch[first], found.jax[first]
    finding = Finding(
        "updates",
        "the learning rate" + ("" if found.group is None else f" of group {found.group}"),
        _name(training.schedule),
        f"{DIFFER} first in step {found.first} of {total} ({COUNTED}), by "
        f"{abs(actual - expected):.2g}",
        torch_value=float(expected),
        jax_value=float(actual),
        cause=shift(found.torch, found.jax),
    )
    if training.scheduler is not None:
        finding = with_cause(evidence, finding, lambda: _setting(evidence, training, found))
    text = f"the schedules differ in {int(found.differ.sum())} of {total} steps"
    return Surface("updates", "fail", text, findings=(finding,))


def _setting(evidence: Evidence, training: Training, found: Schedules) -> tuple[str, bool]:
    """Return the change of torch's scheduler that gives the port's schedule in every step."""
    from jaxgrad.parity.prove.record.torch_side import port_numbers, variants

    assert training.schedule is not None
    total, texts, every = len(found.differ), [], True
    expected = _rates(evidence, training, total)
    port = _rates_of(training.schedule, expected)
    numbers = _with_rates_of(_numbers(training.schedule), port)
    for variant in (
        *variants.schedules(training),
        *port_numbers.schedules(training, evidence.torch_side.module, numbers),
    ):
        text = variant.difference.says(evidence.reference)
        if not evidence.may_search(text):
            every = False
            break
        if _same(_rates(evidence, variant.training, total), port):
            texts.append(text)
    if not texts:
        return shift(found.torch, found.jax), False
    return settled(texts, SCHEDULED, every=every)


def _numbers(schedule: Callable[[Any], Any]) -> list[float]:
    """Return the sizes of the numbers in a schedule's program; none if JAX cannot trace it."""
    try:
        jaxpr = jax.make_jaxpr(schedule)(np.zeros((), np.int32))
    except Exception:  # numbers are only candidates for a cause
        return []
    return [float(f"{abs(x):.7g}") for x in literals(jaxpr)]


def _name(schedule: Any) -> str:
    """Return the schedule's name and line; not those of a function in a library's own file."""
    code = getattr(inspect.unwrap(schedule), "__code__", None)
    is_own = code is not None and "site-packages" not in code.co_filename
    return name_of(schedule) if is_own else "Training(schedule=)"


def _rates_of(schedule: Callable[[int], Any], torch: np.ndarray) -> np.ndarray:
    """Return a schedule's rates by step and parameter group, for as many as torch has."""
    return np.array([_values(schedule, step, x) for step, x in enumerate(torch.tolist())])


def _values(schedule: Any, step: int, rates: list[float]) -> list[float]:
    """Return the schedule's value for each of torch's parameter groups, whose rates are given."""
    try:
        values = [float(x) for x in np.ravel(schedule(step))]
    except Exception as error:
        raise ProofError(
            f"Training(schedule=) called with {step}, for step {step + 1}, raised "
            f"{type(error).__name__}: {error}"
        ) from error
    if len(values) == 1 and len(set(rates)) == 1:
        return values * len(rates)
    if len(values) != len(rates):
        count = f"{len(values)} value" + "s" * (len(values) != 1)
        raise ProofError(
            f"Training(schedule=) returned {count}, {values}, for step {step + 1}, in which "
            f"torch's {len(rates)} parameter groups have the learning rates {rates}: return one "
            "value for each group, in the order of torch's groups, or leave schedule= out"
        )
    return values


def shift(expected: np.ndarray, actual: np.ndarray) -> str:
    """Describe how a schedule differs if it is shifted by a step or multiplied by a number."""

    def equal(x: np.ndarray, y: np.ndarray) -> bool:
        return len(x) > 1 and bool(np.allclose(x, y, rtol=1e-6, atol=0.0)) and np.ptp(y) > 0

    if equal(actual[:-1], expected[1:]):
        return "JAX's schedule is one step ahead of torch's"
    if equal(actual[1:], expected[:-1]):
        return "JAX's schedule is one step behind torch's"
    factor = proportion(expected, actual)
    return f"JAX's schedule is {factor:.6g} times torch's" if factor is not None else ""


def replayed(evidence: Evidence, training: Training, total: int) -> Surface:
    """Give both optimizers the same gradients, and compare the weights after every step."""
    found = replay(evidence, training, total)
    if found is None:
        return Surface("updates", "pass", f"given the same gradients, {agree(evidence, total)}")
    name, rate = found.name, found.rates[_group_of(evidence, training, found.name)]
    values: dict[str, Any] = {}
    at = f"step {found.step} of {total} ({COUNTED})"
    if found.factor is not None:
        text = f"JAX's learning rate differs from torch's first in {at}"
        values = dict(torch_value=rate, jax_value=rate * found.factor)
    else:
        text = (
            f"given the same gradients, the update in {at} is off by "
            f"{found.share:.2g} (relative to the largest update)"
        )
    finding = with_cause(
        evidence,
        Finding("updates", name, evidence.jax_place(name), text, **values),
        lambda: cause(evidence, training, total, found.share),
    )
    text = f"given the same gradients, step {found.step} differs"
    return Surface("updates", "fail", text, findings=(finding,))


def agree(evidence: Evidence, total: int) -> str:
    """Say in how many steps the weights agree; those that the user accepts are left out."""
    most = [evidence.waivers.most("updates", name) for name in gradients(evidence)]
    accepted = [x for x in most if x == math.inf]
    if len(accepted) == len(most):
        return "no step is compared, because all weights are accepted"
    within = " within the accepted bounds" if any(0 < x < math.inf for x in most) else ""
    verb = "agrees" if total == 1 else "agree"
    where = " in the other weights" if accepted else ""
    return f"{counted(total, 'step')} {verb}{within}{where}"


def _group_of(evidence: Evidence, training: Training, name: str) -> int:
    """Return the number of torch's parameter group that has a parameter."""
    from jaxgrad.parity.prove.record.torch_side import loop

    return loop.groups(training, evidence.torch_side.module).get(name, 0)


def cause(evidence: Evidence, training: Training, total: int, share: float) -> tuple[str, bool]:
    """Return the change to torch's schedule with which all steps agree; whether it is confirmed.

    Args:
        evidence: The evidence of the proof.
        training: The user's training step.
        total: Number of steps to replay.
        share: The first difference without a change, relative to the largest update.
    """
    if not math.isfinite(share):
        return "", False
    allowed = min(TOLERANCE, share / MARGIN)
    numbers = Loop(evidence.port, training, evidence.draws[0], evidence.trained).numbers()
    port = port_rates(evidence, training, total)
    tried = hypotheses(evidence, training, numbers, total, port)
    found, every = agreeing(
        evidence, tried, lambda x, _: replay(evidence, x.training, total, allowed) is None
    )
    if not found and every and (other := observed(evidence, training, total, port)) is not None:
        found = [other] if replay(evidence, other.training, total, allowed) is None else []
    kept = distinct(evidence, found, total)
    texts = [x.difference.says(evidence.reference) for x in kept]
    return settled(texts, REPLAYED, every=every)


def agreeing(
    evidence: Evidence,
    tried: Iterable[Variant],
    agrees: Callable[[Variant, Sequence[Variant]], bool],
) -> tuple[list[Variant], bool]:
    """Return the variants that agree with the port; whether the time sufficed to try all.

    Args:
        evidence: The evidence of the proof.
        tried: The variants. One with which torch raises does not agree.
        agrees: Function of a variant and of those that agree and were tried before it.
    """
    from jaxgrad.parity.prove.record.torch_side.variants import clipping_by

    found: list[Variant] = []
    for variant in tried:
        if not evidence.may_search(variant.difference.says(evidence.reference)):
            return found, False
        with (
            clipping_by(variant),
            warnings.catch_warnings(),
            contextlib.suppress(Exception),
        ):
            warnings.simplefilter("ignore")
            if agrees(variant, found):
                found.append(variant)
    return found, True


def hypotheses(
    evidence: Evidence,
    training: Training,
    numbers: Sequence[float],
    steps: int,
    port: np.ndarray | None,
) -> Iterator[Variant]:
    """Yield variants of torch's schedule that change a learning rate in the first steps.

    Args:
        evidence: The evidence of the proof.
        training: A training step.
        numbers: The numbers in the program of the port's transformation.
        steps: Number of steps.
        port: The port's learning rates in these steps, which a variant must have; None if they are
            not known.
    """
    if training.scheduler is None:
        return
    from jaxgrad.parity.prove.record.torch_side import port_numbers, variants

    module = evidence.torch_side.module
    own = _rates(evidence, training, steps)
    if follows_torch(evidence, training, steps):
        follower = observed(evidence, training, steps, port)
        yield from () if follower is None else (follower,)
        return
    constant = observed(evidence, training, steps, port) if _is_constant(port) else None
    for variant in (
        *variants.schedules(training),
        *(() if constant is None else (constant,)),
        *port_numbers.schedules(training, module, _with_rates_of(numbers, port)),
        *_given(evidence, training, steps),
    ):
        rates = _rates(evidence, variant.training, steps)
        if rates is None or _same(rates, own) or (port is not None and not _same(rates, port)):
            continue
        yield variant


def follows_torch(evidence: Evidence, training: Training, steps: int) -> bool:
    """Return whether the user gives the port's schedule, and it equals torch's in the whole run."""
    from jaxgrad.parity.prove.record.torch_side import loop

    if training.schedule is None:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some schedulers are stepped before the optimizer
        total = loop.range_of(training, evidence.torch_side.module, steps)[0]
    return given(evidence, training, total) is None


def port_rates(evidence: Evidence, training: Training, steps: int) -> np.ndarray | None:
    """Return the learning rates that the port's transformation uses, by step and torch's group.

    They are None if they do not show in the updates.
    """
    count = len(evidence.port.program.param_paths)
    leaves, torchs = evidence.jax_gradients[0].leaves[:count], gradients(evidence)

    def scaled(sizes: Sequence[float]) -> list[Any]:
        factors = _factors(max(steps, _LEAST_MEASURED), sizes)
        return [
            ([_times(g, x) for g in leaves], {n: _times(g, x) for n, g in torchs.items()})
            for x in factors
        ]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small = scaled((_unclipped(training, torchs),))
        rates = used_rates_of_port(evidence, training, small, scaled(_SIZES))
    return None if rates is None else rates[:steps]


def norm_of(given: Mapping[str, Any]) -> float:
    """Return the norm of all gradients together."""
    return math.sqrt(sum(float(np.vdot(g, g).real) for g in given.values() if g is not None))


def _unclipped(training: Training, given: Mapping[str, Any]) -> float:
    """Return a factor with which no gradient is clipped: clipping by another rule is no rate."""
    if training.clip is None or callable(training.clip):
        return 1.0
    norm = norm_of(given)
    return min(1.0, training.clip / (2.0 * norm)) if norm else 1.0


def _times(gradient: Any, factor: float) -> Any:
    return None if gradient is None else gradient * factor


def other_rates(
    evidence: Evidence, training: Training, steps: int, port: np.ndarray | None
) -> bool:
    """Return whether the port's transformation differs from torch's in the learning rates alone."""
    if port is None:
        return False
    own = _rates(evidence, training, steps)
    return own is not None and not _same(port, own)


def observed(
    evidence: Evidence, training: Training, steps: int, port: np.ndarray | None
) -> Variant | None:
    """Return the variant in which torch uses the port's rates, given those of the first steps.

    If they differ from torch's, the rates of all steps that can be replayed are measured.
    """
    from jaxgrad.parity.prove.record.torch_side import loop, variants

    hidden = training.scheduler is None and loop.has_scheduler(training, evidence.torch_side.module)
    if hidden or not other_rates(evidence, training, steps, port):
        return None
    total = _range(evidence, training, steps)[1]
    expected, actual = _rates(evidence, training, total), port
    if total > steps:
        actual = port_rates(evidence, training, total)
    if expected is None or actual is None:
        expected, actual = _rates(evidence, training, steps), port
    assert actual is not None
    first, group = (int(i) for i in np.argwhere(_differs(actual, expected))[0])
    jax, torch = f"{actual[first, group]:.6g}", f"{expected[first, group]:.6g}"
    text: Difference
    if follows_torch(evidence, training, steps):
        text = Mutual(
            "the optax transformation does not use the rates of schedule=: in step "
            f"{first + 1} ({COUNTED}) it uses {jax}, schedule= gives {torch}"
        )
    elif _is_constant(actual):
        text = Told(
            f"the learning rate is {jax} in every step, torch's schedule changes it",
            f"the schedule changes the learning rate, JAX uses {jax} in every step",
        )
    else:
        text = Mutual(
            f"the learning rates differ first in step {first + 1} ({COUNTED}), in which torch's "
            f"is {torch} and JAX's is {jax}"
        )
    return variants.with_rates(text, training, actual.tolist())._replace(given=True)


def _is_constant(rates: np.ndarray | None) -> bool:
    """Whether all groups have the same rate, other than 0, in all of several steps."""
    if rates is None or len(rates) < _LEAST_MEASURED:
        return False
    first = float(rates[0, 0])
    return first != 0 and bool(np.all(np.abs(rates - first) <= TOLERANCE * abs(first)))


def _with_rates_of(numbers: Sequence[float], rates: np.ndarray | None) -> list[float]:
    """Add the port's first and last learning rates to the numbers of its program."""
    ends = [] if rates is None else [float(f"{x:.7g}") for x in (*rates[0], *rates[-1])]
    return list(dict.fromkeys([*numbers, *ends]))


def _given(evidence: Evidence, training: Training, steps: int) -> Iterator[Variant]:
    """Yield the variant in which torch uses the port's schedule, if one is given and it differs."""
    from jaxgrad.parity.prove.record.torch_side import loop, variants

    if training.schedule is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some schedulers are stepped before the optimizer
        total = loop.range_of(training, evidence.torch_side.module, steps)[0]
    total = max(steps, total)
    expected = _rates(evidence, training, total)
    if expected is None:
        return
    actual = _rates_of(training.schedule, expected)
    wrong = _differs(actual, expected)
    if wrong.any():
        first, group = (int(i) for i in np.argwhere(wrong)[0])
        text = (
            f"{DIFFER} first in step {first + 1} ({COUNTED}), in which torch's "
            f"learning rate is {expected[first, group]:.6g} and JAX's is {actual[first, group]:.6g}"
        )
        yield variants.with_rates(Mutual(text), training, actual.tolist())._replace(given=True)


def distinct(evidence: Evidence, found: Sequence[Variant], steps: int) -> list[Variant]:
    """Drop schedules whose learning rates equal those of an earlier one in the whole run.

    A schedule that is one step ahead has no rate of torch's for the last step, so that this step
    does not tell it apart from the port's own schedule.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some schedulers are stepped before the optimizer
        ranges = [_range(evidence, x.training, steps)[0] for x in found if x.schedule]
    total = max(ranges, default=steps)
    kept: list[tuple[Variant, Any]] = []
    for variant in found:
        rates = _rates(evidence, variant.training, total) if variant.schedule else None
        last = -1 if variant.given and total > 1 else None
        others = [other[:last] for _, other in kept if other is not None]
        if rates is None or not any(_same(rates[:last], other) for other in others):
            kept.append((variant, rates))
    return [variant for variant, _ in kept]


def later_step(evidence: Evidence, variant: Variant, steps: int) -> int | None:
    """Return the first step in which the same gradients lead to other weights with a variant.

    The steps are those that can be replayed, of the user's schedule and of the variant's.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some schedulers are stepped before the optimizer
        total = _range(evidence, variant.training, steps)[1]
    found = _replayed_with(evidence, variant, total)
    return None if found is None else found.step


def lasting(evidence: Evidence, found: Sequence[Variant]) -> list[Variant]:
    """Return the variants that give JAX's weights for gradients of other sizes too, or else all.

    Larger and smaller gradients distinguish changes that agree in the compared steps, such as
    maximum norms that are larger than all their gradients.
    """
    if len(found) < 2:
        return list(found)
    count = len(_SIZES)
    sized = _factors(count, _SIZES)
    port = list(weights_of_port(evidence, found[0].training, sized))
    kept = [x for x in found if _replayed_with(evidence, x, count, sized, port) is None]
    return kept or list(found)


def _replayed_with(
    evidence: Evidence,
    variant: Variant,
    total: int,
    factors: Sequence[float] = (),
    port_steps: Sequence[State] = (),
) -> Divergence | None:
    """Replay steps with a variant; one that cannot be replayed differs in no step."""
    from jaxgrad.parity.prove.record.torch_side.variants import clipping_by

    with clipping_by(variant), warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        return replay(evidence, variant.training, total, factors=factors, port_steps=port_steps)
    return None


def _rates(evidence: Evidence, training: Training, steps: int) -> Any:
    """Return the learning rates by step and parameter group; None if torch raises."""
    from jaxgrad.parity.prove.record.torch_side import loop

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.array(loop.learning_rates(training, evidence.torch_side.module, steps))
    except Exception:  # a changed setting may be invalid
        return None


def used_rates(evidence: Evidence, training: Training, steps: int) -> np.ndarray:
    """Return the learning rates with which torch steps, by step and parameter group.

    Unlike `learning_rates`, this shows a scheduler that the user's optimizer steps itself.
    """
    given = _scaled(gradients(evidence), _factors(steps))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        taken = evidence.torch_side.replay(training, evidence.draws[0], given)
        return np.array([rates for rates, _ in taken])


def _same(rates: Any, other: Any) -> bool:
    shapes = np.shape(rates) == np.shape(other)
    return shapes and not _differs(rates, other).any()


def _differs(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    return ~(np.abs(actual - expected) <= TOLERANCE * np.max(np.abs(expected), 0, initial=0.0))


def _range(evidence: Evidence, training: Training, steps: int) -> tuple[int, int, bool]:
    """Return the number of steps to compare, how many can be replayed, and whether that is all."""
    from jaxgrad.parity.prove.record.torch_side import loop

    total, is_all = loop.range_of(training, evidence.torch_side.module, steps)
    sizes = map(math.prod, evidence.port.weights.shapes.values())
    cost = sum(_PER_TENSOR + _PER_ELEMENT * size for size in sizes) * training.accumulate
    return total, min(total, max(steps, int(_SECONDS / cost))), is_all


def replay(
    evidence: Evidence,
    training: Training,
    total: int,
    tolerance: float = TOLERANCE,
    *,
    factors: Sequence[float] = (),
    port_steps: Sequence[State] = (),
) -> Divergence | None:
    """Return the first step in which the same gradients lead to different weights.

    Args:
        evidence: The evidence of the proof.
        training: A training step.
        total: Number of steps.
        tolerance: The allowed difference, relative to the largest update.
        factors: The factor of each step's gradients. By default their sign and size change.
        port_steps: The port's weights after each step, if they are known.
    """
    factors = factors or _factors(total)
    port, draw = evidence.port, evidence.draws[0]
    trained = gradients(evidence)
    before: tuple[Any, Any] = (draw.state, draw.state)
    apart = port.weights.not_one_to_one
    names = [
        name
        for name in trained
        if name not in apart and evidence.waivers.most("updates", name) < math.inf
    ]
    largest = dict.fromkeys(names, 0.0)
    steps = evidence.torch_side.replay(training, draw, _scaled(trained, factors))
    states = port_steps or weights_of_port(evidence, training, factors)
    for step, ((rates, expected), actual) in enumerate(zip(steps, states, strict=True), 1):
        wrong = {}
        for name in names:
            if name not in actual:
                continue
            x, y = expected[name], actual[name]
            largest[name] = max(largest[name], _size(x - before[0][name]))
            most = max(tolerance, evidence.waivers.most("updates", name))
            allowed = most * largest[name] + 1e-15 * step * _size(x)
            if not _size(x - y) <= allowed:
                wrong[name] = _size(x - y) / (largest[name] or 1.0)
        if wrong:
            moves = {n: (expected[n] - before[0][n], actual[n] - before[1][n]) for n in wrong}
            ratios = [proportion(x, y) for x, y in moves.values()]
            known = [r for r in ratios if r is not None]
            same = len(known) == len(ratios) and np.ptp(known) <= 1e-6 * abs(known[0])
            name = max(wrong, key=lambda n: wrong[n])
            return Divergence(step, name, rates, wrong[name], known[0] if same else None)
        before = expected, actual
    return None


def weights_of_port(
    evidence: Evidence, training: Training, factors: Sequence[float]
) -> Iterator[State]:
    """Yield the port's weights after steps with its first gradients, times these factors."""
    given = evidence.jax_gradients[0].leaves[: len(evidence.port.program.param_paths)]
    loop = Loop(evidence.port, training, evidence.draws[0], evidence.trained)
    for factor in factors:
        leaves = [_times(g, factor) for g in given]
        loop.step(lambda *_, leaves=leaves: Gradients([], leaves, {}))
        yield loop.parameters()


def gradients(evidence: Evidence) -> dict[str, Any]:
    """Return the port's first gradients by torch's names, for the weights that torch trains."""
    port = evidence.port
    given = evidence.jax_gradients[0].leaves[: len(port.program.param_paths)]
    named = port.weights.to_torch(given)
    return {n: g for n, g in named.items() if evidence.runs[0].grads.get(n) is not None}


def _scaled(gradients: Mapping[str, Any], factors: Sequence[float]) -> Iterator[dict[str, Any]]:
    """Yield the gradients of each step."""
    for factor in factors:
        yield {n: _times(g, factor) for n, g in gradients.items()}


def _factors(total: int, sizes: Sequence[float] = (1.0,)) -> list[float]:
    """Return the factor of each step's gradients, whose sign and size change from step to step.

    Args:
        total: Number of steps.
        sizes: Additional factors, which are used in turn.
    """
    return [math.cos(step) * sizes[step % len(sizes)] for step in range(total)]


def trains_alike(
    evidence: Evidence, one: Variant, other: Variant, steps: int = len(_SIZES)
) -> bool:
    """Return whether two variants are the same change of torch with two descriptions.

    They are if torch makes the same steps with both, even on gradients of other sizes.
    """
    from jaxgrad.parity.prove.record.torch_side.variants import clipping_by

    if one.training.ema is not other.training.ema:
        return False
    weights, given = [], gradients(evidence)
    for variant in (one, other):
        with clipping_by(variant), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scaled = _scaled(given, _factors(steps, _SIZES))
            taken = evidence.torch_side.replay(variant.training, evidence.draws[0], scaled)
            weights.append([state for _, state in taken])
    before = evidence.draws[0].state
    for x, y in zip(*weights, strict=True):
        for name in given:
            allowed = 1e-12 * _size(x[name]) + 1e-9 * _size(x[name] - before[name])
            if not _size(x[name] - y[name]) <= allowed:
                return False
    return True


def _size(x: Any) -> float:
    return float(np.max(np.abs(x), initial=0.0))
