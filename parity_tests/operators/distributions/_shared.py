"""Calls, arrays and strategies that several records of `distributions` share.

torch's functions are methods of its distribution objects, which do not validate their arguments.
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
Range = tuple[float, float] | int
GAMMAS = {
    "float32": Tolerance(
        1e-4, "XLA's lgamma and digamma in float32 are some 1e-6 off, and these sums cancel"
    )
}
QUOTIENT = "torch's forward mode of a quotient is (dx - out dy) / y, its gradient -x / y / y"


def values_and_parameters(
    ranges: Sequence[Range], *, same: bool = False, logits: bool = False
) -> Callable[..., Sample]:
    """A value and parameters in these ranges, which broadcast; an int is a bound of counts.

    `same`: of one shape, because torch writes into some of its divergences, without broadcasting.
    `logits`: the last one, a probability, may be given by its logits.
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


def log_prob(made: Any) -> Callable[..., Any]:
    return lambda value, *args, **kwargs: made(*args, **kwargs, validate_args=False).log_prob(value)


ZERO = [[0.0, 0.5, 0.5], [0.2, 0.3, 0.5]]


def probs_or_logits(draw):
    """The word probs or logits, and one of both for 2 or 3 classes."""
    shape = (*draw(broadcast(1))[0], draw(st.integers(2, 3)))
    word = draw(st.sampled_from(["probs", "logits"]))
    return {word: draw(floats(shape, *(UNIT if word == "probs" else ANY)))}


def cholesky_factor(draw, n):
    return np.tril(draw(floats((n, n), -1, 1))) + 2 * np.eye(n)
