"""Variants of the torch training loop, each with one mistake that users of optax often make."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import itertools
import math
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.optim import swa_utils

from jaxgrad.parity.prove.record.torch_side import formulas
from jaxgrad.parity.prove.record.torch_side.loop import build_optimizer
from jaxgrad.parity.prove.training import Training
from jaxgrad.parity.prove.wording import (
    CLIPS_AS_OPTAX,
    TORCH,
    Difference,
    InJax,
    Missing,
    Mutual,
    Setting,
    Told,
)


Edit = Callable[[Any], Any]  # from an optimizer to the optimizer that takes its place
Clip = Callable[..., Any]  # in place of torch's clip_grad_norm_ or clip_grad_value_

_ADDED = "the weight decay is added to the gradient"
_APART = "the weight decay is decoupled"
_DECOUPLED = Told(f"{_APART}, torch adds it to the gradient", f"{_ADDED}, JAX decouples it")
_COUPLED = Told(f"{_ADDED}, torch decouples it", f"{_APART}, JAX adds it to the gradient")


class Variant(NamedTuple):
    """A training step with one setting changed, and the sentence that says which."""

    difference: Difference
    training: Training
    clip: Clip | None = None
    schedule: bool = False  # whether the schedule is changed
    given: bool = False  # whether it is the port's own schedule, of which others are descriptions
    scales: bool = False  # whether it multiplies the rates of a schedule in all compared steps
    of_update: bool = False  # whether it clips the update instead of the gradients
    of_values: bool = False  # whether `clip` takes the place of clip_grad_value_

    @property
    def text(self) -> str:
        """What the port does wrong if torch is the reference."""
        return self.difference.says(TORCH)


def variants(training: Training) -> Iterator[Variant]:
    """Yield the variants of a training step, the most frequent mistakes first."""
    yield from _decayed_clips(training)  # before the update of SGD, which is a multiple of it
    yield from _sums(training)
    yield from _clips(training)
    yield from _settings(training)
    yield from _defaults(training)
    yield from _averages(training)
    yield from _new_clips(training)


def clips(training: Training) -> Iterator[Variant]:
    """Yield the variants that clip the gradients in another way."""
    yield from _decayed_clips(training)
    yield from _clips(training)


@contextlib.contextmanager
def clipping_by(variant: Variant) -> Iterator[None]:
    """Replace torch's function that clips, which a hook of the user's optimizer may call."""
    name = "clip_grad_value_" if variant.of_values else "clip_grad_norm_"
    before = getattr(nn.utils, name)
    places: list[Any] = [nn.utils, nn.utils.clip_grad]
    try:
        for place in places:
            setattr(place, name, variant.clip or before)
        yield
    finally:
        for place in places:
            setattr(place, name, before)


def edited(training: Training, edit: Edit) -> Training:
    """Return a training step whose optimizer is edited after it is built."""

    def factory(module: Any) -> Any:
        if not hasattr(module, "parameters"):
            raise TypeError("this factory takes a torch.nn.Module")
        return edit(build_optimizer(training.torch, module))

    return dataclasses.replace(training, torch=factory)


def with_settings(training: Training, **settings: Any) -> Training:
    """Return a training step with other settings of the optimizer; a function gets the old one."""

    def edit(optimizer: Any) -> Any:
        for group in optimizer.param_groups:
            for key, value in settings.items():
                if key not in group:
                    raise KeyError(key)
                group[key] = value(group[key]) if callable(value) else value
        return optimizer

    return edited(training, edit)


def with_decays(training: Training, decays: Mapping[str, float]) -> Training:
    """Return a training step in which each parameter has its own weight decay."""
    return _split(training, lambda name, own, _: {**own, "weight_decay": decays[name]})


def with_groups(training: Training, groups: Mapping[str, int]) -> Training:
    """Return a training step in which each parameter has the settings of a group by its index."""
    return _split(training, lambda name, _, every: every[groups[name]])


_Group = dict[str, Any]


def _split(
    training: Training, settings: Callable[[str, _Group, Sequence[_Group]], _Group]
) -> Training:
    """Return a training step in which each parameter is a group with settings of its own.

    Only the step itself sees a group for each parameter: schedulers, the user's hooks, and the
    rates that the user gives for each group need the user's groups.

    Args:
        training: A training step.
        settings: Function from a parameter's name, its group and all groups to its settings.
    """

    def factory(module: Any) -> Any:
        if not hasattr(module, "parameters"):
            raise TypeError("this factory takes a torch.nn.Module")
        optimizer = build_optimizer(training.torch, module)
        names = {id(p): name for name, p in module.named_parameters()}
        groups = optimizer.param_groups
        own = [*groups]

        def split(*_: Any) -> None:
            groups[:] = [
                settings(names[id(p)], group, own) | {"params": [p]}
                for group in own
                for p in group["params"]
            ]

        def restore(*_: Any) -> None:
            groups[:] = own

        optimizer.register_step_pre_hook(split)  # after the user's hooks
        handle = optimizer.register_step_post_hook(restore)
        optimizer._optimizer_step_post_hooks.move_to_end(handle.id, last=False)  # before them
        return optimizer

    return dataclasses.replace(training, torch=factory)


def schedules(training: Training) -> Iterator[Variant]:
    """Yield variants of torch's scheduler."""
    make = training.scheduler
    if make is None:
        return

    def ahead(optimizer: Any) -> Any:
        scheduler = make(optimizer)
        scheduler.step()
        return scheduler

    class Behind:
        def __init__(self, optimizer: Any) -> None:
            self.scheduler, self.started = make(optimizer), False

        def step(self) -> None:
            if self.started:
                self.scheduler.step()
            self.started = True

    yield with_schedule(AHEAD, training, ahead)
    yield with_schedule(BEHIND, training, Behind)
    yield with_schedule(Missing("the schedule"), training, None)


AHEAD, BEHIND = (
    Told(f"the schedule is one step {x} torch's", f"the schedule is one step {y} JAX's")
    for x, y in (("ahead of", "behind"), ("behind", "ahead of"))
)


def with_schedule(
    text: Difference, training: Training, scheduler: Callable[[Any], Any] | None
) -> Variant:
    """Return the variant with another scheduler."""
    return Variant(text, dataclasses.replace(training, scheduler=scheduler), schedule=True)


def with_rates(text: Difference, training: Training, rates: Sequence[Sequence[float]]) -> Variant:
    """Return the variant with these learning rates, by step and parameter group."""

    class Rates:
        def __init__(self, optimizer: Any) -> None:
            self.groups, self.count = optimizer.param_groups, 0
            self._set()

        def _set(self) -> None:
            now = rates[min(self.count, len(rates) - 1)]
            for group, rate in zip(self.groups, now, strict=True):
                group["lr"] = float(rate)

        def step(self, *_: Any) -> None:
            self.count += 1
            self._set()

    return with_schedule(text, training, Rates)


def _clips(training: Training) -> Iterator[Variant]:
    """Yield variants of torch's `clip_grad_norm_`, wherever the user calls it."""
    none = Told("the gradients are not clipped", "the gradients are clipped, JAX's are not")
    yield Variant(none, training, _without_clipping)
    yield Variant(CLIPS_AS_OPTAX, training, clip_as_optax)
    norms: list[float] = []
    remember = _remembering(norms)

    def clip_update(optimizer: Any, scaled: bool, eps: float, decays: bool = True) -> Any:
        groups = optimizer.param_groups
        if not decays and not any(
            group.get("decoupled_weight_decay") and group["weight_decay"] for group in groups
        ):
            raise ValueError("no weight decay is apart from the update")
        parameters = [p for group in groups for p in group["params"]]
        step = optimizer.step

        def clipped(_: Any) -> None:
            before = [p.detach().clone() for p in parameters]
            rate = 1.0 if scaled else float(groups[0]["lr"])
            shares = [1.0 if decays else 1.0 - g["lr"] * g["weight_decay"] for g in groups]
            kept = [share for g, share in zip(groups, shares, strict=True) for _ in g["params"]]
            step()
            starts = [share * b for share, b in zip(kept, before, strict=True)]
            moves = [p.detach() - b for p, b in zip(parameters, starts, strict=True)]
            factor = _factor([move / rate for move in moves], norms[-1], eps) if norms else 1.0
            with torch.no_grad():
                for p, b, move in zip(parameters, starts, moves, strict=True):
                    p.copy_(b + factor * move)

        optimizer.step = types.MethodType(clipped, optimizer)  # which a scheduler wraps
        return optimizer

    def updates(decays: bool) -> Iterator[Variant]:
        for scaled, eps in itertools.product((True, False), (0.0, 1e-6)):
            edit = functools.partial(clip_update, scaled=scaled, eps=eps, decays=decays)
            text = Told(
                "the update is clipped instead of the gradient (clip before the optimizer in "
                "optax.chain)",
                "the gradient is clipped, JAX clips the update",
            )
            yield Variant(text, edited(training, edit), remember, of_update=True)

    yield from updates(decays=True)
    each = Told(
        "each weight's gradient is clipped by its own norm, torch uses the norm of all",
        "the gradients are clipped by the norm of all, JAX clips each by its own norm",
    )
    for clip in (clip_as_optax, nn.utils.clip_grad_norm_):
        yield Variant(each, training, functools.partial(_clip_each, clip))
    yield Variant(
        Told(
            "the gradients are clipped by value, torch clips them by norm",
            "the gradients are clipped by norm, JAX clips them by value",
        ),
        training,
        lambda parameters, max_norm, **_: nn.utils.clip_grad_value_(parameters, max_norm),
    )
    yield from _clips_of_groups(training)
    yield from updates(decays=False)


def _sums(training: Training) -> Iterator[Variant]:
    """Yield the variant that adds the gradients of micro-batches, of which torch takes the mean."""
    own, count = training.clip, training.accumulate
    if count < 2:
        return

    def summed(parameters: list[Any]) -> None:
        for p in parameters:
            if p.grad is not None:
                p.grad *= count
        if callable(own):
            own(parameters)
        elif own is not None:
            nn.utils.clip_grad_norm_(parameters, own)

    text = Told(
        f"the gradients of the {count} micro-batches are summed, torch's loop takes their mean",
        f"the loop takes the mean of {count} micro-batches, JAX the sum of the micro-batches",
    )
    yield Variant(text, dataclasses.replace(training, clip=summed))


def _clips_of_groups(training: Training) -> Iterator[Variant]:
    """Yield the variants in which the transformation of each parameter group clips its own part."""
    optimizers: list[Any] = []

    def remember(optimizer: Any) -> Any:
        optimizers[:] = [optimizer]
        return optimizer

    def clip_groups(clip: Clip, parameters: Any, max_norm: float, **_: Any) -> None:
        clipped = {id(p) for p in parameters}
        parts = [[p for p in g["params"] if id(p) in clipped] for g in optimizers[0].param_groups]
        if len([*filter(None, parts)]) < 2 or max(map(len, parts)) < 2:
            raise ValueError("the norm of each group is that of all weights, or of each one")
        for part in parts:
            clip(part, max_norm)

    text = Told(
        "the gradients of each parameter group are clipped by the group's own norm, torch uses "
        "the norm of all (clip before the groups in optax.chain)",
        "the gradients are clipped by the norm of all, JAX clips each parameter group by its own",
    )
    for clip in (clip_as_optax, nn.utils.clip_grad_norm_):
        changed = functools.partial(clip_groups, clip)
        yield Variant(text, edited(training, remember), changed)


def _clip_each(clip: Clip, parameters: Any, max_norm: float, **_: Any) -> None:
    """Clip the gradient of each parameter by its own norm."""
    for p in [parameters] if isinstance(parameters, Tensor) else parameters:
        clip([p], max_norm)


def _decayed_clips(training: Training) -> Iterator[Variant]:
    """Yield the variants in which the weight decay is added to the gradients before clipping."""
    norms: list[float] = []
    for eps in (0.0, 1e-6):
        edit = functools.partial(_clip_decayed, norms=norms, eps=eps)
        yield Variant(
            Told(
                "the gradients are clipped after the weight decay is added to them, torch clips "
                "them before (clip first in optax.chain)",
                "the gradients are clipped before the weight decay is added to them, JAX clips "
                "them after",
            ),
            edited(training, edit),
            _remembering(norms),
        )


def late_decays(training: Training) -> Iterator[Variant]:
    """Yield the variants in which the weight decay is added after the optimizer's own step.

    `optax.add_decayed_weights` after the optimizer does so: the weights grow, and by an amount that
    the learning rate does not scale. Between the momentum and the learning rate, it is decoupled.
    """
    yield Variant(
        Told(
            "the weight decay is added to the update, after the learning rate and its sign, so "
            "that the weights grow (add_decayed_weights comes before the optimizer in optax.chain)",
            "the weight decay is a part of the step, JAX adds it to the update",
        ),
        edited(training, _decay_after_step),
    )
    yield Variant(_DECOUPLED, edited(training, _decay_apart))


def _decay_apart(optimizer: Any) -> Any:
    """Let an optimizer step without its weight decay, and subtract the decay from the weights."""
    if any("decoupled_weight_decay" in group for group in optimizer.param_groups):
        raise ValueError("the optimizer has a setting for it")
    return _decay_after_step(optimizer, lambda group: -group["lr"], reached=True)


def _decay_after_step(
    optimizer: Any, scale: Callable[[Any], float] = lambda _: 1.0, *, reached: bool = False
) -> Any:
    """Let an optimizer step without its weight decay, and add the decay to the new weights.

    Args:
        optimizer: The optimizer, which is changed.
        scale: Function from a parameter group to the factor of what is added.
        reached: Whether only weights with a gradient decay, as in torch.
    """
    groups = optimizer.param_groups
    if not any(group.get("weight_decay") for group in groups):
        raise ValueError("no weight decays")
    step = optimizer.step

    def decayed_last(_: Any) -> None:
        decays = [group["weight_decay"] for group in groups]
        factors = [decay * scale(group) for group, decay in zip(groups, decays, strict=True)]
        pairs = [(p, d) for g, d in zip(groups, factors, strict=True) for p in g["params"]]
        decayed = ((p, d) for p, d in pairs if d and not (reached and p.grad is None))
        added = [(p, p.detach() * d) for p, d in decayed]
        for group in groups:
            group["weight_decay"] = 0.0
        step()
        for group, decay in zip(groups, decays, strict=True):
            group["weight_decay"] = decay
        with torch.no_grad():
            for p, x in added:
                p.add_(x)

    optimizer.step = types.MethodType(decayed_last, optimizer)
    return optimizer


def _remembering(norms: list[float]) -> Clip:
    """Return a function that records the maximum norm and does not clip."""

    def remember(parameters: Any, max_norm: float, *_: Any, **__: Any) -> Tensor:
        norms.append(float(max_norm))
        return _without_clipping(parameters)

    return remember


def _clip_decayed(optimizer: Any, norms: Sequence[float], eps: float) -> Any:
    """Add an optimizer's weight decay to the gradients, and clip the sums to the last norm."""
    groups = optimizer.param_groups
    decoupled = any(g.get("decoupled_weight_decay") for g in groups)
    if decoupled or not any(g.get("weight_decay") for g in groups):
        raise ValueError("no weight decay is added to the gradients")
    decays = [group["weight_decay"] for group in groups]
    step = optimizer.step

    def decayed_first(_: Any) -> None:
        pairs = [(p, d) for g, d in zip(groups, decays, strict=True) for p in g["params"]]
        gradients = [(p.grad, p.detach() * d) for p, d in pairs if p.grad is not None]
        for gradient, decay in gradients:
            gradient.add_(decay)
        factor = _factor([g for g, _ in gradients], norms[-1], eps) if norms else 1.0
        for gradient, _ in gradients:
            gradient.mul_(factor)
        for group in groups:
            group["weight_decay"] = 0.0
        step()
        for group, decay in zip(groups, decays, strict=True):
            group["weight_decay"] = decay

    optimizer.step = types.MethodType(decayed_first, optimizer)
    return optimizer


def _new_clips(training: Training) -> Iterator[Variant]:
    if training.clip is None:
        for norm in (1.0, 0.5, 0.1, 5.0, 10.0):
            text = Told(
                f"the gradients are clipped to the norm {norm:g}, torch does not clip them",
                f"the gradients are not clipped, JAX clips them to the norm {norm:g}",
            )
            for clip in (None, clip_as_optax):
                yield Variant(text, dataclasses.replace(training, clip=norm), clip)


def _without_clipping(parameters: Any, *_: Any, **__: Any) -> Tensor:
    return torch.tensor(_norm([p.grad for p in parameters if p.grad is not None]))


def clip_as_optax(parameters: Any, max_norm: float, *_: Any, **__: Any) -> Tensor:
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm, factor = _norm(gradients), _factor(gradients, max_norm)
    for gradient in gradients:
        gradient.mul_(factor)
    return torch.tensor(norm)


def _factor(tensors: list[Tensor], max_norm: float, eps: float = 0.0) -> float:
    return min(1.0, max_norm / (_norm(tensors) + eps))


def _norm(tensors: list[Tensor]) -> float:
    return math.sqrt(sum(float((x.abs() ** 2).sum()) for x in tensors))


def _settings(training: Training) -> Iterator[Variant]:
    def changed(text: Difference, **settings: Any) -> Variant:
        return Variant(text, with_settings(training, **settings))

    for eps in (1e-8, 1e-7, 1e-6, 1e-5, 1e-10, 1e-15):
        yield changed(Setting("eps", f"{eps:g}"), eps=eps)
    yield changed(Missing("the momentum"), momentum=0.0)
    yield changed(Missing("the dampening"), dampening=0.0)
    yield Variant(
        Told(
            "the dampening applies to the first gradient too, torch's momentum buffer begins with "
            "the whole gradient",
            "the momentum buffer begins with the whole gradient, JAX's dampening applies to the "
            "first gradient too",
        ),
        edited(training, _with_zero_buffers),
    )
    for flag in ("nesterov", "amsgrad"):
        for value in (True, False):
            text = Setting(flag, f"{value}", f"{not value}")
            yield changed(text, **{flag: functools.partial(_changed_to, value)})
    for b2 in (0.99, 0.95, 0.98, 0.999, 0.9, 0.9999):
        yield changed(Setting("beta2", f"{b2:g}"), betas=lambda b, b2=b2: (b[0], b2))
    for b1 in (0.9, 0.95, 0.8, 0.5, 0.0):
        yield changed(Setting("beta1", f"{b1:g}"), betas=lambda b, b1=b1: (b1, b[1]))
    for momentum in (0.9, 0.99):
        yield changed(Setting("the momentum", f"{momentum:g}"), momentum=momentum)
    for decoupled, text in ((True, _DECOUPLED), (False, _COUPLED)):
        yield changed(text, decoupled_weight_decay=functools.partial(_changed_to, decoupled))
    uncorrected = Missing("Adam's bias correction")
    yield Variant(uncorrected, edited(training, formulas.adam(corrected=False)))
    nadam = Setting("nesterov", "True (NAdam)", "plain Adam")
    yield Variant(nadam, edited(training, formulas.adam(nesterov=True)))
    for root in (1e-8, 1e-7, 1e-6, 1e-16, 1e-15):
        edit = formulas.adam(root)
        text = Told(f"eps_root is {root:g}, torch has none", f"JAX has the eps_root {root:g}")
        yield Variant(text, edited(training, edit))
        edit = formulas.adam(root, 0.0)
        yield Variant(
            InJax(f"eps_root is {root:g} and eps is 0, torch adds eps outside the square root"),
            edited(training, edit),
        )


def _with_zero_buffers(optimizer: Any) -> Any:
    """Let the momentum of an SGD with dampening begin at zero."""
    groups = [group for group in optimizer.param_groups if group.get("dampening")]
    if not groups:
        raise ValueError("no momentum is dampened")
    for group in groups:
        for parameter in group["params"]:
            optimizer.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
    return optimizer


def _changed_to(new: bool, old: bool) -> bool:
    if new == old:
        raise ValueError("the setting has this value already")
    return new


def _defaults(training: Training) -> Iterator[Variant]:
    """Yield combinations of optax's defaults, where they differ from torch's in two settings."""
    for alpha, inside, initial in itertools.product((None, 0.9, 0.99), (True, False), (0.0, 1.0)):
        texts = [f"the decay is {alpha:g}"] if alpha is not None else []
        texts += ["eps is inside the square root"] if inside else []
        texts += [f"initial_scale is {initial:g}"] if initial else []
        if texts:
            edit = formulas.rmsprop(alpha, inside=inside, initial=initial)
            text = " and ".join(texts) + ", unlike torch's RMSprop (as in optax.rmsprop)"
            yield Variant(InJax(text), edited(training, edit))
    for initial, eps in itertools.product((0.1, 0.0), (1e-7, None)):
        texts = [f"initial_accumulator_value is {initial:g}"] if initial else []
        texts += [f"eps is {eps:g}"] if eps is not None else []
        text = " and ".join([*texts, "eps is inside the square root"])
        text += ", unlike torch's Adagrad (as in optax.adagrad)"
        yield Variant(InJax(text), edited(training, formulas.adagrad(initial, eps)))


def _averages(training: Training) -> Iterator[Variant]:
    """Yield other decays of the average, and the other first average."""
    if training.ema is None:
        return
    own, port = training.ema
    known = None if callable(own) else own
    decays = (None, *(() if known is None else (1 - known,)), 0.9, 0.99, 0.999, 0.9999)
    first = [(None, ""), (1, "the first average includes the initial weights, torch's copies")]
    if known is None:  # an average that torch makes of a decay copies the weights
        text = "the first average copies the weights, torch's includes the initial weights"
        first.append((0, text))
    for decay in decays:
        used = "" if known is None else f"{known:g}"
        for averaged, start in first:
            texts = [start] if start else []
            if decay is not None and decay != known:
                other = Setting("the decay of the average", f"{decay:g}", used)
                texts = [other.of_jax, *texts]
            if texts and (decay is None or decay != known):
                ema = (_average(own, decay, averaged), port)
                yield Variant(InJax(" and ".join(texts)), dataclasses.replace(training, ema=ema))
    if known is None:
        text = "the factors of the average and of the new weights are exchanged"
        ema = (_exchanged(own), port)
        yield Variant(Mutual(text), dataclasses.replace(training, ema=ema))


def _exchanged(own: Any) -> Callable[[nn.Module], swa_utils.AveragedModel]:
    """Return a function that makes torch's average with the factor of the new weights as decay."""

    def make(module: nn.Module) -> swa_utils.AveragedModel:
        average = own(module)
        decay = _decay(average) if isinstance(average, swa_utils.AveragedModel) else None
        if decay is None:
            raise ValueError("the decay of the average is not known")
        return _average(own, 1.0 - decay, None)(module)

    return make


def _average(
    own: Any, decay: float | None, averaged: int | None
) -> Callable[[nn.Module], swa_utils.AveragedModel]:
    """Return a function that makes torch's average of a module with other settings.

    Args:
        own: torch's decay, or the function that makes torch's average.
        decay: The other decay; None for torch's own.
        averaged: The other number of updates that the average begins with; None for torch's own.
    """

    def make(module: nn.Module) -> swa_utils.AveragedModel:
        given = decay if decay is not None else own
        if callable(own):
            average = own(module)
        else:
            average = swa_utils.AveragedModel(
                module, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(given)
            )
        if not isinstance(average, swa_utils.AveragedModel):
            raise ValueError("the average is of another class, whose settings are not known")
        if callable(own) and decay is not None:
            if _decay(average) == decay:
                raise ValueError("the average has this decay already")
            average.avg_fn, average.multi_avg_fn = None, swa_utils.get_ema_multi_avg_fn(decay)
        if averaged is not None:
            count = int(average.n_averaged)
            average.n_averaged.fill_(_changed_to(bool(averaged), count > 0))
        return average

    return make


def _decay(average: swa_utils.AveragedModel) -> float | None:
    """Return the weight of the old average in torch's next one, if it has a function for it."""
    old, new = torch.ones((), dtype=torch.float64), torch.zeros((), dtype=torch.float64)
    count = torch.tensor(1)
    if average.multi_avg_fn is not None:
        average.multi_avg_fn([old], [new], count)
        return round(float(old), 12)
    if average.avg_fn is not None:
        return round(float(average.avg_fn(old, new, count)), 12)
    return None
