"""Guesses at why weights move otherwise: torch's optimizer again, one setting as ports have it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxgrad.parity.prove.surfaces.trajectories import Trajectories
from jaxgrad.parity.prove.torch_side.side import TorchSide


if TYPE_CHECKING:
    from torch import nn


def guess(side: TorchSide, factory: Any, paths: Trajectories, names: Sequence[str]) -> str:
    """The setting with which torch moves as JAX does, else what the moves themselves say.

    Args:
      side: torch's.
      factory: Of torch's optimizer.
      paths: Of the weights.
      names: The weights that move otherwise.
    """
    before, theirs, ours = paths.before, paths.theirs, paths.ours
    last = max(theirs)
    for what, build in _variants(factory) if side.module is not None else ():
        try:
            moved = side.steps(build, last, reruns=0).states[last]
        except Exception:  # this mistake does not apply to this optimizer
            continue
        if all(_near(moved[n], ours[last][n], before[n]) for n in names):
            return f"{what}: with that, torch moves as JAX does"
    if all(np.array_equal(theirs[last][n], before[n]) for n in names):
        return "torch does not move it (no gradient: skipped), the optimizer in JAX does"
    name = names[0]
    a, b = theirs[1][name] - before[name], ours[1][name] - before[name]
    factor = float(np.vdot(a, b).real / (np.vdot(a, a).real or 1.0))
    if (
        factor
        and abs(factor - 1) > 1e-6
        and np.linalg.norm(b - factor * a) < 1e-9 * np.linalg.norm(b)
    ):
        return f"the first step is {factor:.6g} times torch's"
    return ""


def _near(x: Any, y: Any, before: Any) -> bool:
    size = float(np.max(np.abs(x - before), initial=0.0))
    return bool(np.max(np.abs(x - y), initial=0.0) <= 1e-9 * size)


def _variants(factory: Any) -> Iterator[tuple[str, Callable[[nn.Module], Any]]]:
    """torch's optimizer with one setting changed."""
    from jaxgrad.parity.prove.torch_side.live import made_optimizer

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
