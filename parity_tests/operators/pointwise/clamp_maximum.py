"""Records of the operators in `jaxgrad/functional/pointwise/clamp_maximum.py`."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from jaxgrad._core.torch_versions import TIES_OF_FMAX
from parity_tests.operators import RaisesFor, call, here, operator
from parity_tests.operators._harness.draw import broadcast, floats
from parity_tests.operators.pointwise._shared import EDGES, ORIGIN, PAIRS


inf = np.inf


def ties(draw):
    """Draw two arrays of multiples of 0.5, so that some elements are equal."""
    left, right = draw(broadcast())
    return call(*(np.asarray(np.round(draw(floats(shape)) * 2) / 2) for shape in (left, right)))


@operator(
    "clamp",
    elementwise=True,
    points=[
        call(EDGES, -1.0, 1.0),
        call(EDGES, min=0.5),
        call(EDGES, max=0.5),
        call([1.0], 1.0, 1.0),
        call([0.0, 2.0, 1.5], 2.0, 1.0),
        call([1.0, 2.0, 0.0], [1.0, 1.0, 1.0], [1.0, 1.5, 2.0]),
        call(np.zeros((0, 2)), 0.0),
    ],
    raises=[
        RaisesFor(call(np.ones(2)), RuntimeError, "At least one of"),
        RaisesFor(
            call(ORIGIN, ORIGIN, ORIGIN),
            NotImplementedError,
            torch="'Bool'",
            jax="clamp is not implem",
        ),
        RaisesFor(
            call(ORIGIN, True),
            NotImplementedError,
            torch="'Bool'",
            jax="clamp_min is not implemented",
        ),
    ],
    jax_idioms={
        "jnp.clip(x, low, high)": lambda x, min=None, max=None: jnp.clip(x, min, max),
        "lax.clamp(low, x, high)": lambda x, min=-inf, max=inf: jax.lax.clamp(
            jnp.asarray(min, x.dtype), x, jnp.asarray(max, x.dtype)
        ),
    },
    source="P005 P006 P171 P207",
)
def clamp(draw):
    x = draw(floats())
    kind = draw(st.sampled_from(["numbers", "arrays", "min", "max"]))
    if kind == "arrays":
        return call(x, draw(floats(x.shape)), draw(floats(x.shape)))
    low = draw(st.floats(-2, 1))
    bounds = {"numbers": {"min": low, "max": low + 1}, "min": {"min": low}, "max": {"max": low}}
    return call(x, **bounds[kind])


@operator(
    "clamp_min",
    elementwise=True,
    points=[call(*PAIRS), call(EDGES, 0.5)],
    jax_idioms={"jnp.maximum(x, y)": jnp.maximum},
    forward_mode="at NaN torch's tangent is 1, but its gradient is 0",
)
def clamp_min(draw):
    return ties(draw)


@operator(
    "clamp_max",
    elementwise=True,
    points=[call(*PAIRS), call(EDGES, 0.5)],
    jax_idioms={"jnp.minimum(x, y)": jnp.minimum},
    forward_mode="at NaN torch's tangent is 1, but its gradient is 0",
)
def clamp_max(draw):
    return ties(draw)


for name, idiom in (
    ("maximum", jnp.maximum),
    ("minimum", jnp.minimum),
    ("fmax", jnp.fmax),
    ("fmin", jnp.fmin),
):
    operator(
        name,
        elementwise=True,
        points=[call(*PAIRS)],
        jax_idioms={f"jnp.{name}(x, y)": idiom},
        forward_mode=""
        if name == "fmin" or (name == "fmax" and here(TIES_OF_FMAX))
        else "at ties or NaN torch's forward mode contradicts its gradient",
        source="P020" if name[0] == "f" else "P038",
    )(ties)
