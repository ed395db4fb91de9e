"""Records of the operators in `jaxgrad/functional/pooling/fractional.py`.

torch gets the same random samples as JAX.
"""

import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats


F = torch.nn.functional
HALF = np.full((1, 1, 2), 0.5)
TIES = [[[[1.0, 1.0, 2.0], [1.0, 1.0, 2.0], [np.nan, np.inf, np.nan]]]]


def _fixed(fun):
    """Return torch's function with detached samples, because they must not require a gradient."""

    def called(*args, _random_samples=None, **kwargs):
        samples = None if _random_samples is None else _random_samples.detach()
        return fun(*args, _random_samples=samples, **kwargs)

    return called


def _drawn(draw, places):
    batch = draw(st.sampled_from([(2, 2), (1,), (2,)]))
    spatial = tuple(draw(st.integers(places + 2, 6)) for _ in range(places))
    x = draw(floats((*batch, *spatial)))
    if draw(st.booleans()):
        x = np.round(x)
    options = {"_random_samples": draw(floats((1, *batch, places)[-3:], 0.0, 1.0))}
    if draw(st.booleans()):
        options["return_indices"] = True
    if draw(st.booleans()):
        return call(x, 2, output_ratio=(0.5, 0.6, 0.5)[:places], **options)
    kernel = tuple(draw(st.integers(1, 2)) for _ in range(places))
    return call(x, kernel, draw(st.integers(1, 3)), **options)


@operator(
    "fractional_max_pool2d",
    torch=_fixed(F.fractional_max_pool2d),
    points=[call(TIES, 2, 2, _random_samples=HALF)],
    raises=[
        RaisesFor(
            call(np.ones((1, 1, 4, 4)), 2),
            ValueError,
            torch="either an output_size or an",
            jax="either an output_size or an output_ratio",
        ),
        RaisesFor(
            call(np.ones((1, 1, 4, 4)), 2, 4, _random_samples=HALF),
            RuntimeError,
            torch="too large relative to input",
            jax="pool size 2 too large relative to input size 4",
        ),
        RaisesFor(
            call(np.ones((4, 4)), 2, 4, _random_samples=HALF),
            RuntimeError,
            torch="Expected 3D or 4D tensor",
            jax="Expected 3D or 4D",
        ),
    ],
)
def fractional_max_pool2d(draw):
    return _drawn(draw, 2)


@operator(
    "fractional_max_pool3d",
    torch=_fixed(F.fractional_max_pool3d),
    raises=[
        RaisesFor(
            call(np.ones((1, 1, 2, 2, 2)), 2, 1, _random_samples=np.ones((1, 1, 3)) / 2),
            RuntimeError,
            torch="too large relative to input",
            jax="too large relative to input size 2",
        ),
    ],
)
def fractional_max_pool3d(draw):
    return _drawn(draw, 3)
