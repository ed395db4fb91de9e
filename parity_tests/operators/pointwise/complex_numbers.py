"""Records of the operators in `jaxgrad/functional/pointwise/complex_numbers.py`."""

import jax.numpy as jnp
import numpy as np

from jaxgrad._core.torch_versions import REAL_INPUTS
from parity_tests.operators import PinnedDifference, RaisesFor, call, here, operator
from parity_tests.operators._harness.draw import broadcast, floats
from parity_tests.operators.pointwise._shared import one


NEEDS_COMPLEX = TypeError if here(REAL_INPUTS) else RuntimeError
Z = [0j, 1 + 1j, -2 + 0j, 3j, 3 - 4j]
SIZES = [1.0, 0.5, 2.0, 0.0, -1.0]
ANGLES = [0.0, 1.0, -2.0, 1.0, 0.5]
BOTH = ("complex128", "float64", "complex64")


for name in ("real", "conj"):
    operator(name, elementwise=True, points=[call(Z)], dtypes=BOTH, source="P046")(one)


operator(
    "imag",
    elementwise=True,
    points=[call(Z)],
    raises=[RaisesFor(call([1.0]), NEEDS_COMPLEX, "non-complex")],
    dtypes=("complex128", "complex64"),
)(one)


operator(
    "angle",
    elementwise=True,
    points=[call(Z), call([0.0, -0.0, 1.0, -2.0, np.nan])],
    jax_idioms={"jnp.angle(z)": jnp.angle},
    dtypes=BOTH,
    source="P031",
)(one)


operator(
    "sgn",
    elementwise=True,
    points=[call(Z), call([0.0, 1.0, -2.0])],
    differences=[
        PinnedDifference(
            call(np.full(32, complex(np.inf, 0.0))),
            {"forward/0": (complex(np.nan, 0.0), complex(np.nan, np.nan))},
            "torch's vectorised loop divides both parts separately; its scalar tail gives NaN in "
            "both",
        )
    ],
    jax_idioms={"jnp.sign(z)": jnp.sign},
    dtypes=BOTH,
    source="P050",
)(one)


operator(
    "view_as_real",
    points=[call(Z)],
    raises=[RaisesFor(call([1.0]), NEEDS_COMPLEX, "for complex")],
    dtypes=("complex128", "complex64"),
)(one)


@operator(
    "view_as_complex",
    raises=[
        RaisesFor(call(np.ones(3)), RuntimeError, "dimension of size 2"),
        RaisesFor(call(np.ones(2, int)), RuntimeError, "only supported for"),
    ],
    dtypes=("float64", "float32"),
)
def view_as_complex(draw):
    shape = draw(broadcast(1))[0]
    return call(draw(floats((*shape, 2))))


def sizes_and_angles(draw):
    left, right = draw(broadcast())
    return call(draw(floats(left, low=0.1)), draw(floats(right)))


DTYPES = RaisesFor(
    call(np.ones(2), np.ones(2, "f4")), RuntimeError, torch="scalar type", jax="same dtype"
)
INTEGERS = RaisesFor(call(np.ones(2, int), np.ones(2, int)), RuntimeError, "Half, Fl")


operator("complex", raises=[DTYPES, INTEGERS], dtypes=("float64", "float32"))(sizes_and_angles)


operator(
    "polar",
    elementwise=True,
    points=[call(SIZES, ANGLES)],
    torch_gradient=True,
    forward_mode=(
        "torch's forward mode uses the direction of the angle, its gradient the sign of the result"
    ),
    differences=[
        PinnedDifference(
            call([-1.0, 0.0], [0.0, 0.0]),
            {"gradient/0": ([-1.0, 0.0], [1.0, 1.0])},
            "torch's gradient uses the sign of the result instead of the direction of the angle",
        )
    ],
    raises=[DTYPES, INTEGERS],
    dtypes=("float64", "float32"),
)(sizes_and_angles)
