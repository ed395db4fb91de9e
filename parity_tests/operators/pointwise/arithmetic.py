"""Records of the operators in `jaxgrad/functional/pointwise/arithmetic.py`."""

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import broadcast, floats
from parity_tests.operators.pointwise._shared import PAIRS, SIDES


inf, nan = np.inf, np.nan


def two_or_number(draw, low=-3.0):
    left, right = draw(broadcast())
    return draw(floats(left)), draw(st.one_of(floats(right, low=low), st.sampled_from([2, 0.5])))


BOOLS = np.array([True])


for name in ("add", "sub"):

    @operator(
        name,
        elementwise=True,
        points=[
            call(*PAIRS),
            call(*PAIRS, alpha=2),
            call(np.arange(3), np.arange(3), alpha=2),
            call(np.arange(3, dtype=np.uint8), -1),
        ],
        raises=[
            RaisesFor(
                call(np.arange(3), 1, alpha=0.5),
                RuntimeError,
                torch="integral input",
                jax="alpha is 0.5",
            ),
            *[
                RaisesFor(call(*pair), RuntimeError, words)
                for pair, words in (
                    ((BOOLS, BOOLS), "with two bool tensors is not"),
                    (([1.0], BOOLS), "with a bool tensor is not"),
                    (([1.0], True), "with a bool tensor is not"),
                )
                if name == "sub"
            ],
        ],
    )
    def sum_of(draw):
        return call(*two_or_number(draw), alpha=draw(st.sampled_from([1, 2, 0.5])))


@operator("mul", elementwise=True, points=[call(*PAIRS), call(np.arange(3), 2)])
def mul(draw):
    return call(*two_or_number(draw))


@operator(
    "div",
    elementwise=True,
    points=[
        call(*PAIRS),
        call(*PAIRS, rounding_mode="trunc"),
        call(
            [1.0, -1.0, 1.0, 5.0, -5.0, inf, -0.0, 0.3],
            [0.1, 0.1, 0.0, inf, inf, 2.0, 2.0, 0.1],
            rounding_mode="floor",
        ),
        call(np.arange(1.0, 13) / 7 - 1, np.array([-2 / 7]), rounding_mode="trunc"),
        call(np.arange(-3, 3), 2, rounding_mode="floor"),
        call(np.arange(-3, 3), 2, rounding_mode="trunc"),
        call(np.arange(3), 2),
    ],
    raises=[
        RaisesFor(call(np.ones(2), 2.0, rounding_mode="x"), RuntimeError, "rounding"),
        RaisesFor(
            call(BOOLS, BOOLS, rounding_mode="floor"),
            NotImplementedError,
            torch="'Bool'",
            jax="rounding_mode 'floor' is not implemented for bool",
        ),
    ],
    forward_mode="torch's forward mode is (dx - out dy) / y, which is NaN or inf at other inputs",
    jax_idioms={"x / y": lambda x, y, **_: jnp.true_divide(x, y)},
)
def div(draw):
    mode = draw(st.sampled_from([None, "trunc", "floor"]))
    return call(*two_or_number(draw, 0.3), rounding_mode=mode)


@operator(
    "true_divide",
    elementwise=True,
    points=[call(*PAIRS), call(np.arange(3), 2)],
    forward_mode="torch's forward mode is (dx - out dy) / y, which is NaN or inf at other inputs",
)
def true_divide(draw):
    return call(*two_or_number(draw, 0.3))


@operator(
    "neg",
    elementwise=True,
    points=[call(SIDES), call(np.arange(3))],
    raises=[RaisesFor(call(np.array([True])), RuntimeError, "bool tensor")],
    dtypes=("float64", "float32", "bfloat16", "float16", "complex128"),
)
def neg(draw):
    return call(draw(floats()))


@operator(
    "positive",
    elementwise=True,
    max_programs=2,
    points=[call(SIDES), call(np.arange(3))],
    raises=[RaisesFor(call(np.array([True])), RuntimeError, "on a bool tensor is not supported")],
    dtypes=("float64", "float32", "bfloat16", "float16", "complex128"),
)
def positive(draw):
    return call(draw(floats()))
