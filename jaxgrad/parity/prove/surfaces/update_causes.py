"""Guess why updates differ: rerun torch's optimizer with one setting changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.surfaces.trajectories import Trajectories
from jaxgrad.parity.prove.training import Training


if TYPE_CHECKING:
    from torch import nn

Factory = Callable[..., Any] | None


def guess(evidence: Evidence, training: Training, paths: Trajectories, names: Sequence[str]) -> str:
    """Describe the setting with which torch would update the weights `names` as JAX does."""
    before, expected, actual = paths.before, paths.torch, paths.jax
    last = max(expected)
    for text, build in _variants(training.torch) if evidence.rerunnable else ():
        try:
            changed = dataclasses.replace(training, torch=build)
            steps = evidence.torch_side.steps(changed, evidence.draws, last, reruns=0)
            rerun = steps.states[last]
        except Exception:  # the optimizer lacks this setting
            continue
        if all(_near(rerun[n], actual[last][n], before[n]) for n in names):
            return f"{text} (rerunning torch with this change reproduces JAX's weights)"
    if all(np.array_equal(expected[last][n], before[n]) for n in names):
        return "torch skips the weight, which has no gradient, but JAX's optimizer changes it"
    name = names[0]
    a, b = expected[1][name] - before[name], actual[1][name] - before[name]
    factor = float(np.vdot(a, b).real / (np.vdot(a, a).real or 1.0))
    proportional = np.linalg.norm(b - factor * a) < 1e-9 * np.linalg.norm(b)
    if factor and abs(factor - 1) > 1e-6 and proportional:
        return f"the first step is {factor:.6g} times torch's"
    return ""


def _near(x: Any, y: Any, before: Any) -> bool:
    size = float(np.max(np.abs(x - before), initial=0.0))
    return bool(np.max(np.abs(x - y), initial=0.0) <= 1e-9 * size)


def _variants(factory: Factory) -> Iterator[tuple[str, Factory]]:
    """Yield factories of torch's optimizer with one setting changed."""
    from jaxgrad.parity.prove.torch_side.loop import build_optimizer

    def changed(text: str, **settings: Any) -> tuple[str, Factory]:
        def build(module: nn.Module) -> Any:
            optimizer = build_optimizer(factory, module)
            for group in optimizer.param_groups:
                for key, value in settings.items():
                    if key not in group:
                        raise KeyError(key)
                    group[key] = value(group[key]) if callable(value) else value
            return optimizer

        return text, _of_module(build)

    for eps in (1e-8, 1e-7, 1e-6, 1e-5, 1e-10, 1e-15):
        yield changed(f"eps is {eps:g}", eps=eps)
    yield changed("the weight decay is missing", weight_decay=0.0)
    yield changed("the momentum is missing", momentum=0.0)
    yield changed("the dampening is missing", dampening=0.0)
    for flag in ("nesterov", "amsgrad"):
        yield changed(f"{flag} is inverted", **{flag: lambda x: not x})
    for b2 in (0.99, 0.95, 0.98, 0.999):
        yield changed(f"beta2 is {b2:g}", betas=lambda b, b2=b2: (b[0], b2))
    yield changed("decoupled_weight_decay is inverted", decoupled_weight_decay=lambda x: not x)
    for factor in (0.1, 0.5, 2.0, 10.0):
        text = f"the learning rate is {factor:g} times torch's"
        yield changed(text, lr=lambda x, f=factor: x * f)

    def decay_everywhere(module: nn.Module) -> Any:
        optimizer = build_optimizer(factory, module)
        largest = max(group.get("weight_decay", 0.0) for group in optimizer.param_groups)
        for group in optimizer.param_groups:
            group["weight_decay"] = largest
        return optimizer

    yield "the weight decay applies to all weights", _of_module(decay_everywhere)


def _of_module(build: Callable[[nn.Module], Any]) -> Factory:
    """Return a factory that accepts a module, but not a list of parameters."""

    def factory(module: Any) -> Any:
        if not hasattr(module, "parameters"):
            raise TypeError("this factory takes a torch.nn.Module")
        return build(module)

    return factory
