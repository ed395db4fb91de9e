"""Record the random numbers that torch draws, also inside its fused functions, or replay them."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove.record.noise import Noise, sharing


# torch's operators, each with the kind of numbers that it draws.
_KINDS = {
    "bernoulli": "bernoulli", "rand": "uniform", "rand_like": "uniform", "uniform": "uniform",
    "randn": "normal", "randn_like": "normal", "normal": "normal", "exponential": "exponential",
    "randint": "randint", "randint_like": "randint",
}  # fmt: skip
_OTHERS = ("randperm", "random", "multinomial", "geometric", "cauchy",
           "log_normal", "poisson", "binomial")  # fmt: skip


def is_random(func: Any) -> bool:
    """Whether one of torch's operators draws random numbers."""
    name = getattr(func, "overloadpacket", func).__name__.strip("_")
    return name in _KINDS or name in _OTHERS


class Randomness(TorchDispatchMode):
    """Record the random numbers of a forward pass; given a record, draw its numbers again."""

    def __init__(self, replayed: Sequence[Noise] = ()):
        super().__init__()
        self.replayed, self.on = list(replayed), True
        self.where: Callable[[], str] = str  # returns the place that draws, for reports
        self.call = -1  # the number of the call that draws
        self.noise: list[Noise] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False: torch's default imports its compiler, which takes seconds."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__.strip("_")
        if not self.on or not is_random(func):
            return func(*args, **kwargs)
        rate = args[0].clone() if name == "bernoulli" else None  # `bernoulli` of probabilities
        out = func(*args, **kwargs)
        number = len(self.noise)
        if number < len(self.replayed) and self.replayed[number].drawn.shape == tuple(out.shape):
            out.copy_(torch.as_tensor(self.replayed[number].drawn))
        noise = _noise(name, func, args, kwargs, out, rate)
        self.noise.append(dataclasses.replace(noise, where=self.where(), call=self.call))
        return out

    def changed(
        self,
        func: Callable[..., Any],
        change: Callable[..., Any],
        draws: int = -1,
        masks: Sequence[tuple[int, ...]] = (),
    ) -> Any:
        """Return the result of a changed call.

        Args:
            func: The function to call; it draws the numbers that were recorded.
            change: Called with this function, it returns the result.
            draws: The number of the call that drew them, -1 for the one that runs.
            masks: The shapes of the arrays that it draws, if several elements share a number.
        """
        own = [noise for noise in self.replayed if noise.call == self.call]
        known = [noise for noise in self.replayed if noise.call == draws] if draws >= 0 else own
        known = sharing(known, masks) if masks else known
        self.on = False
        try:
            return change(replaying(func, known))
        finally:
            self.on = True
            self.noise += own


def replaying(func: Callable[..., Any], noise: Sequence[Noise]) -> Callable[..., Any]:
    """Return a torch function that draws given numbers."""

    @functools.wraps(func)
    def replayed(*args: Any, **kwargs: Any) -> Any:
        with Randomness(noise):
            return func(*args, **kwargs)

    return replayed


def _noise(name: str, func: Any, args: Any, kwargs: Any, out: Any, rate: Any) -> Noise:
    """Describe the numbers that one call drew."""
    drawn = to_numpy(out)
    kind = _KINDS.get(name, name)
    arguments = [a.name for a in func._schema.arguments]
    values = {**dict(zip(arguments, args, strict=False)), **kwargs}

    def get(key: str, default: float) -> Any:
        x = values.get(key, default)
        return to_numpy(x) if isinstance(x, torch.Tensor) else x

    if kind == "bernoulli":
        p = values.get("p")
        if p is None:
            p = 0.5 if func._schema.is_mutable else rate
        chance = to_numpy(p) if isinstance(p, torch.Tensor) else float(p)
        return Noise(kind, drawn, drawn, chance)
    if name == "uniform":
        low, high = get("from", 0.0), get("to", 1.0)
        return Noise(kind, drawn, (drawn - low) / (high - low))
    if name == "normal":
        mean, deviation = get("mean", 0.0), get("std", 1.0)
        return Noise(kind, drawn, (drawn - mean) / np.where(deviation == 0, 1.0, deviation))
    if kind == "randint":  # the middle of the part of [0, 1) that gives the number
        low, high = get("low", 0), get("high", 1)
        return Noise(kind, drawn, (drawn - low + 0.5) / (high - low))
    if name == "exponential":
        return Noise(kind, drawn, drawn * get("lambd", 1.0))
    return Noise(kind, drawn, drawn)
