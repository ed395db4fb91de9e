"""Records of the operators in `jaxgrad/functional/pooling/unpool.py`."""

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats


def _unpool(draw, places):
    """Draw distinct indices, because an element that is written twice has an unspecified value."""
    batch = draw(st.sampled_from([(), (2,)]))
    shape = (*batch, 2, *[2] * places)
    room = 4**places
    order = np.argsort(draw(floats((*shape[:-places], room))), -1)[..., : 2**places]
    x, order = draw(floats(shape)), order.reshape(shape)
    if draw(st.booleans()):  # the output size is (2 - 1) * 2 + 4 - 2 = 4 here too
        return call(x, order, 4, 2, 1)
    options = {"output_size": (5, *[4] * (places - 1))} if draw(st.booleans()) else {}
    return call(x, order, 2, **options)


VALUES = [[[5.0, 6.0]]]


def _at_set(x, i, *_, **__):
    return jnp.zeros((1, 1, 4)).at[0, 0, i[0, 0]].set(x[0, 0])


@operator(
    "max_unpool1d",
    points=[call(VALUES, np.array([[[1, 2]]]), 2), call(VALUES, np.array([[[1, 1]]]), 2)],
    raises=[
        RaisesFor(
            call(VALUES, np.array([[[1, 4]]]), 2), RuntimeError, torch="invalid max", jax="size [4]"
        ),
        RaisesFor(
            call(VALUES, np.array([[[1, -1]]]), 2),
            RuntimeError,
            torch="invalid max",
            jax="size [4]",
        ),
        RaisesFor(
            call(VALUES, np.array([[[1]]]), 2),
            RuntimeError,
            torch="Expected shape",
            jax="[1, 1, 1]",
        ),
        RaisesFor(
            call(VALUES, np.array([[[1, 2]]]), 2, output_size=(6,)), ValueError, "between 2 and 6"
        ),
    ],
    forward_mode=(
        "torch's forward mode keeps an index's last tangent, but its gradient reaches all of them"
    ),
    jax_idioms={"zeros.at[i].set(x)": _at_set},
    source="P068",
)
def max_unpool1d(draw):
    return _unpool(draw, 1)


@operator("max_unpool2d", source="P068")
def max_unpool2d(draw):
    return _unpool(draw, 2)


@operator("max_unpool3d", source="P068")
def max_unpool3d(draw):
    return _unpool(draw, 3)
