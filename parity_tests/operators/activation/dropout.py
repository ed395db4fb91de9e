"""Records of the operators in `jaxgrad/functional/activation/dropout.py`.

torch's function gets the noise that `jax.random` draws from the key.
"""

import jax
import numpy as np
import torch
from hypothesis import strategies as st

from jaxgrad.parity.interop import to_torch
from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, shapes


inf, nan = np.inf, np.nan
KEY = np.array([0, 7], np.uint32)
ONES = np.ones((2, 3))


def _with_noise(name, places=0):
    """Return torch's function with the noise that `jax.random` draws from the key."""
    function = getattr(torch.nn.functional, name)

    def with_key(input, p=0.5, training=True, *, key=None):
        if key is None or not training or p in (0, 1):
            return function(input, p, training)
        whole = "dropout" in name and name in ("dropout", "alpha_dropout")
        unbatched = places in (1, 3) and input.ndim == places + 1
        shape = input.shape[None if whole else 0 : None if whole else (1 if unbatched else 2)]
        shape = tuple(shape) + (1,) * (input.ndim - len(shape))
        drawn = jax.random.bernoulli(np.asarray(key).astype(np.uint32), 1 - p, shape)
        noise = to_torch(np.asarray(drawn)).to(input.dtype)
        if "alpha" not in name:
            return input * noise.div(1 - p)
        alpha = 1.7580993408473766
        a = 1 / np.sqrt((alpha**2 * p + 1) * (1 - p))
        return input * (noise * a) + ((noise - 1) * alpha * a + alpha * a * p)

    return with_key


def _drawn(draw, low, high):
    return call(
        draw(floats(draw(shapes(low=low, high=high)))),
        draw(st.sampled_from([0.5, 0.25, 0.0, 1.0])),
        draw(st.sampled_from([True, True, False])),
        key=KEY,
    )


NO_PROBABILITY = RaisesFor(
    call(ONES, 1.5, True), ValueError, torch="between 0 and 1", jax="but got 1.5"
)
INTEGERS = RaisesFor(call(np.ones(3, int), 0.5, True), RuntimeError, "can't be cast")


@operator(
    "dropout",
    torch=_with_noise("dropout"),
    points=[
        call([inf, -inf, nan, 0.0] * 3, key=KEY),
        call([inf, 1.0], 1.0),
        call(np.zeros((0, 2)), key=KEY),
    ],
    raises=[NO_PROBABILITY, INTEGERS],
    jax_idioms={
        "where(kept, x / (1 - p), 0)": lambda x, p=0.5, key=None: (
            x * 0
            if key is None
            else jax.numpy.where(jax.random.bernoulli(key, 1 - p, x.shape), x / (1 - p), 0)
        )
    },
)
def dropout(draw):
    return _drawn(draw, 0, 3)


@operator(
    "dropout1d",
    torch=_with_noise("dropout1d", 1),
    raises=[NO_PROBABILITY, RaisesFor(call(np.ones(3)), RuntimeError, "2D or 3D")],
)
def dropout1d(draw):
    return _drawn(draw, 2, 3)


@operator(
    "dropout2d",
    torch=_with_noise("dropout2d", 2),
    raises=[NO_PROBABILITY, RaisesFor(call(np.ones(3)), RuntimeError, "at least 2")],
)
def dropout2d(draw):
    return _drawn(draw, 3, 4)


@operator("dropout3d", torch=_with_noise("dropout3d", 3), raises=[NO_PROBABILITY])
def dropout3d(draw):
    return _drawn(draw, 4, 5)


@operator(
    "alpha_dropout",
    torch=_with_noise("alpha_dropout"),
    points=[call([inf, -inf, nan, 0.0] * 3, 0.5, True, key=KEY)],
    raises=[NO_PROBABILITY],
)
def alpha_dropout(draw):
    return _drawn(draw, 0, 3)


@operator(
    "feature_alpha_dropout",
    torch=_with_noise("feature_alpha_dropout"),
    raises=[
        NO_PROBABILITY,
        RaisesFor(call(np.ones(3), 0.5, True), RuntimeError, "at least 2"),
    ],
)
def feature_alpha_dropout(draw):
    return _drawn(draw, 2, 4)
