"""Calls, arrays and strategies that several records of `distributions` share.

torch's functions are methods of distribution objects created with `validate_args=False`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from parity_tests.operators import Sample, call
from parity_tests.operators._harness.draw import broadcast, floats, integers


WIDE = ("float64", "float32")
ANY = (-2.0, 2.0)
POSITIVE = (0.3, 3.0)
UNIT = (0.1, 0.9)
RangeOrCount = tuple[float, float] | int
GAMMAS = {
    "float32": Tolerance(
        1e-4, "XLA's float32 lgamma and digamma have errors of about 1e-6, and these sums cancel"
    )
}
QUOTIENT = "torch's forward mode of a quotient is (dx - out dy) / y, but its gradient is -x / y / y"


def values_and_parameters(
    ranges: Sequence[RangeOrCount], *, same: bool = False, logits: bool = False
) -> Callable[..., Sample]:
    """Return a strategy that draws a value and parameters whose shapes broadcast.

    Args:
        ranges: The range of each argument; an int is the upper bound of a count.
        same: Whether all arguments have one shape. Some of torch's divergences do not broadcast.
        logits: Whether the last argument, a probability, may be passed as logits instead.
    """

    def strategy(draw):
        shapes = draw(broadcast(len(ranges)))
        shapes = [shapes[0] for _ in ranges] if same else shapes
        arrays = [
            draw(integers(shape, 0, r)).astype(float) if isinstance(r, int)
            else draw(floats(shape, *r))
            for r, shape in zip(ranges, shapes, strict=True)
        ]  # fmt: skip
        if logits and draw(st.booleans()):
            *arrays, probs = arrays
            return call(*arrays, logits=np.asarray(np.log(probs / (1 - probs))))
        return call(*arrays)

    return strategy


def log_prob(distribution: Any) -> Callable[..., Any]:
    """Return a distribution's log-probability as a function of the value and the parameters."""

    def fun(value: Any, *args: Any, **kwargs: Any) -> Any:
        return distribution(*args, **kwargs, validate_args=False).log_prob(value)

    return fun


ZERO = [[0.0, 0.5, 0.5], [0.2, 0.3, 0.5]]


def probs_or_logits(draw):
    """Draw `probs` or `logits` of 2 or 3 classes, as a keyword argument."""
    shape = (*draw(broadcast(1))[0], draw(st.integers(2, 3)))
    word = draw(st.sampled_from(["probs", "logits"]))
    return {word: draw(floats(shape, *(UNIT if word == "probs" else ANY)))}


def cholesky_factor(draw, n):
    return np.tril(draw(floats((n, n), -1, 1))) + 2 * np.eye(n)
