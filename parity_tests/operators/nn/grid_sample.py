"""Records of the operators in `jaxgrad/functional/nn/grid_sample.py`."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from jaxgrad._core.torch_versions import INFINITE_SAMPLES
from parity_tests.operators import PinnedDifference, RaisesFor, call, here, operator
from parity_tests.operators._harness.draw import floats


inf, nan = np.inf, np.nan
COLUMN = np.array([[[[1.0, inf, 2.0], [3.0, inf, 4.0]]]])
COLUMNS = np.array([[[[0.256640625, -1.579921875, -1.758515625], [0.16875, -0.73875, 3.07125]]]])
IMAGE = np.array([[[[1.0, 2.0, 4.0], [8.0, 16.0, 32.0], [64.0, 128.0, 256.0]]]])
PLACES = np.array([[[[0.5, -0.5], [1.0, -1.0], [0.0, 0.0], [-1.0, 0.25], [1.5, 0.3], [-3.0, 2.7]]]])


def _jax_idiom(x, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    """Sample with `map_coordinates`, using element coordinates and the closest border modes."""
    size = jnp.array(x.shape[:1:-1])
    at = (grid + 1) / 2 * (size - 1) if align_corners else ((grid + 1) * size - 1) / 2
    border = {"zeros": "constant", "border": "nearest", "reflection": "reflect"}[padding_mode]
    order = 0 if mode == "nearest" else 1
    places = [at[0, ..., i] for i in reversed(range(at.shape[-1]))]
    return jax.scipy.ndimage.map_coordinates(x[0, 0], places, order, border)[None, None]


@operator(
    "grid_sample",
    points=[
        call(IMAGE, PLACES, "bilinear", "zeros", False),
        call(IMAGE, PLACES, "bilinear", "border", True),
        call(IMAGE, PLACES, "bilinear", "reflection", False),
        call(IMAGE, PLACES, "nearest", "zeros", False),
        call(IMAGE, PLACES, "bicubic", "border", False),
    ],
    raises=[
        RaisesFor(call(IMAGE, PLACES, "linear"), ValueError, "expected mode"),
        RaisesFor(
            call(IMAGE, PLACES, padding_mode="x"),
            ValueError,
            torch="expected padding",
            jax="expected pa",
        ),
        RaisesFor(
            call(IMAGE, PLACES.astype("f4")),
            RuntimeError,
            torch="expected scalar type",
            jax="same dtype",
        ),
        RaisesFor(call(IMAGE, PLACES[..., :1]), RuntimeError, "last dimension"),
        RaisesFor(call(IMAGE[0], PLACES), RuntimeError, torch="grid_sampler()", jax="4D or 5D"),
    ],
    differences=[
        PinnedDifference(
            call(COLUMN, [[[[0.5, 0.1], [nan, 0.1]]]], "bicubic", "zeros", False),
            {"tangent/0": (nan, [[[[-inf, nan]]]])}
            if here(INFINITE_SAMPLES)
            else {"second/0": (np.where([1, 0, 1], nan, COLUMNS), COLUMNS)},
            "torch adds 0 times the weight of an outside location to border elements: in its "
            "double backward before 2.15, and since then in forward mode",
        ),
        PinnedDifference(
            call([[[[inf, 1.0], [3.0, 4.0]]]], [[[[-1.25, 0.25]]]], "bilinear", "zeros", False),
            {"tangent/0": (nan, -inf)} if here(INFINITE_SAMPLES) else {"second/1": (nan, -inf)},
            "torch reads the first element, times 0, for locations outside: in its double backward "
            "before 2.15, and since then in forward mode",
        ),
    ],
    dtypes=("float64", "float32"),
    jax_idioms={"map_coordinates(x, places, ...)": _jax_idiom},
    source="P085",
)
def grid_sample(draw):
    mode = draw(st.sampled_from(["bilinear", "nearest", "bicubic"]))
    places = 2 if mode == "bicubic" else draw(st.integers(2, 3))
    batch = draw(st.integers(1, 2))
    shape = (batch, draw(st.integers(1, 2)), *draw(st.tuples(*[st.integers(2, 4)] * places)))
    out = draw(st.tuples(*[st.integers(1, 2)] * places))
    return call(
        draw(floats(shape)),
        draw(floats((batch, *out, places), low=-1.6, high=1.6)),
        mode,
        draw(st.sampled_from(["zeros", "border", "reflection"])),
        draw(st.booleans()),
    )


THETA = np.ones((1, 2, 3))


@operator(
    "affine_grid",
    dtypes=("float64", "float32"),
    raises=[
        RaisesFor(call(THETA, (1, 1, 2, 2, 2)), ValueError, "3D affine"),
        RaisesFor(call(THETA, (1, 1, 2)), NotImplementedError, "4D and 5D"),
        RaisesFor(
            call(THETA.astype(int), (1, 1, 2, 2)),
            ValueError,
            torch="floating point",
            jax="floating",
        ),
        RaisesFor(call(THETA, (1, 1, 0, 2)), ValueError, "non-zero, positive"),
    ],
)
def affine_grid(draw):
    places, batch = draw(st.integers(2, 3)), draw(st.integers(1, 2))
    size = (batch, 2, *draw(st.tuples(*[st.integers(1, 3)] * places)))
    return call(draw(floats((batch, places, places + 1))), size, align_corners=draw(st.booleans()))
