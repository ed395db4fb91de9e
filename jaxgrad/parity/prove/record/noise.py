"""Random numbers that torch draws, and how a JAX program draws the same ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np


@dataclasses.dataclass
class Noise:
    """One array of random numbers that torch draws."""

    kind: str  # one of `KINDS`, or the name of another torch function
    drawn: np.ndarray  # the numbers that torch drew
    standard: np.ndarray  # of mean 0 and deviation 1, in [0, 1), or of rate 1
    rate: np.ndarray | float = 0.5  # the probability of a one, of a bernoulli mask
    where: str = ""  # the torch module and function
    call: int = -1  # the number of the call that drew them, in a watched run

    @property
    def name(self) -> str:
        """A description for reports."""
        return f"{list(self.drawn.shape)} {self.kind} numbers in {self.where or 'the module'}"


# JAX's samplers, each with the kinds of torch's numbers that it can be given.
ACCEPTED = {
    "uniform": ("bernoulli", "uniform", "exponential"),
    "normal": ("normal",),
    "gumbel": ("exponential", "uniform"),
    "exponential": ("exponential", "uniform"),
    "randint": ("randint",),
}
KINDS = ("bernoulli", "uniform", "normal", "exponential", "randint")


def sample(noise: Noise, sampler: str, *, loose: bool, reflected: bool = False) -> np.ndarray:
    """Return what a JAX sampler must return for the port to draw torch's numbers.

    A mask becomes uniform numbers that lie below its probability where it is one.

    Args:
        noise: torch's numbers.
        sampler: Name of a sampler in `ACCEPTED`.
        loose: Whether a mask's numbers are so close to 0 and 1 that they give torch's mask for
            every probability; otherwise they are so close to torch's probability that another
            probability gives another mask.
        reflected: Whether the port keeps what is above a threshold, not below it.
    """
    x = noise.standard
    if sampler in ("normal", "randint") or sampler == noise.kind == "exponential":
        return x
    if noise.kind == "bernoulli":
        p = np.broadcast_to(noise.rate, x.shape)
        margin = 1e-3 * np.minimum(p, 1 - p)
        low, high = (1e-6, 1 - 1e-6) if loose else (p - margin, p + margin)
        x = np.where(x != 0, low, high)
    elif sampler == "uniform" and noise.kind == "exponential":
        x = np.exp(-x)
    if sampler == "uniform":
        return 1 - x if reflected else x
    exponential = x if noise.kind == "exponential" else -np.log(x)
    return -np.log(exponential) if sampler == "gumbel" else exponential


def sampled(function: str, arguments: Sequence[Any], x: Any) -> Any:
    """Return the result of one of JAX's samplers, given its arguments and standard numbers."""
    if function == "_uniform" and len(arguments) == 3:
        _, low, high = arguments
        return low + (high - low) * x
    if function == "_randint":
        _, low, high = arguments
        return low + (x * (high - low)).astype(low.dtype)
    return x


def arranged(x: np.ndarray, shape: tuple[int, ...], *, swapped: bool = False) -> np.ndarray | None:
    """Return numbers in another shape: reshaped, with axes permuted, or shared; None if impossible.

    Args:
        x: The numbers.
        shape: The other shape.
        swapped: Whether to swap the first two axes, such as batch and time, if their sizes do not
            tell them apart.
    """
    if x.size != int(np.prod(shape)):
        return shared(x, shape)
    if swapped and x.ndim > 1 and x.shape == shape and shape[0] == shape[1]:
        return x.swapaxes(0, 1)
    own = [n for n in x.shape if n != 1]
    other = [n for n in shape if n != 1]
    if own == other or sorted(own) != sorted(other):
        return x.reshape(shape)
    left, axes = list(enumerate(own)), []
    for size in other:
        axis = next(i for i, n in left if n == size)
        left = [pair for pair in left if pair[0] != axis]
        axes.append(axis)
    return x.reshape(own).transpose(axes).reshape(shape)


def shared(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray | None:
    """Return numbers in a shape with more or fewer numbers along some axes; None if impossible.

    A longer axis repeats its only number, and a shorter axis holds the first number.
    """
    own = (1,) * (len(shape) - x.ndim) + x.shape
    for other in (shape + (1,) * (x.ndim - len(shape)), (1,) * (x.ndim - len(shape)) + shape):
        if all(n == m or 1 in (n, m) for n, m in zip(own, other, strict=True)):
            first = x.reshape(own)[tuple(slice(m) for m in other)]
            return np.broadcast_to(first, other).reshape(shape)
    return None


def sharing(noise: Sequence[Noise], shapes: Sequence[tuple[int, ...]]) -> list[Noise]:
    """Return each noise with the numbers that an array of its shape holds, in place of all."""

    def repeated(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        held = shared(x, shape)
        return x if held is None else np.array(shared(held, x.shape))

    return [
        dataclasses.replace(n, drawn=repeated(n.drawn, s), standard=repeated(n.standard, s))
        for n, s in zip(noise, shapes, strict=True)
    ]
