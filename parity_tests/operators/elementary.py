"""Records of elementary functions: one strategy, and each function's own edges."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from parity_tests.operators import REAL, Sample, call, operator
from parity_tests.operators._harness.draw import floats


inf, nan = np.inf, np.nan
EDGES = [0.0, -0.0, inf, -inf, nan, 1.0, -1.0, 0.5, -0.5, 1e-8, -1e-8, 1e155, -1e155, -37.0, 100.0]
COMPLEX = (*REAL, "complex128")


def _within(low: float, high: float) -> Callable[..., Sample]:
    def strategy(draw):
        return call(draw(floats(low=low, high=high)))

    strategy.__module__ = __name__
    return strategy


HOLOMORPHIC = ("exp", "log", "sin", "cos", "sqrt", "reciprocal", "square")
EDGED = ("acos", "asin", "log", "sqrt")
for name, low, high, idiom in (
    ("exp", -3, 3, jnp.exp),
    ("exp2", -3, 3, jnp.exp2),
    ("expm1", -3, 3, jnp.expm1),
    ("log", 0.1, 5, jnp.log),
    ("log2", 0.1, 5, jnp.log2),
    ("log10", 0.1, 5, jnp.log10),
    ("log1p", -0.9, 5, jnp.log1p),
    ("sin", -4, 4, jnp.sin),
    ("cos", -4, 4, jnp.cos),
    ("tan", -1.2, 1.2, jnp.tan),
    ("asin", -0.9, 0.9, jnp.arcsin),
    ("acos", -0.9, 0.9, jnp.arccos),
    ("atan", -4, 4, jnp.arctan),
    ("sinh", -3, 3, jnp.sinh),
    ("cosh", -3, 3, jnp.cosh),
    ("asinh", -4, 4, jnp.arcsinh),
    ("acosh", 1.1, 5, jnp.arccosh),
    ("atanh", -0.9, 0.9, jnp.arctanh),
    ("sqrt", 0.1, 5, jnp.sqrt),
    ("rsqrt", 0.1, 5, jax.lax.rsqrt),
    ("reciprocal", 0.1, 5, jnp.reciprocal),
    ("square", -3, 3, jnp.square),
):
    edges = [x for x in EDGES if name not in ("sin", "cos", "tan") or abs(x) < 1e9 or np.isnan(x)]
    operator(
        name,
        elementwise=True,
        points=[call(edges), *[call(np.arange(-2, 3))] * (name == "square")],
        dtypes=COMPLEX if name in HOLOMORPHIC else REAL,
        jax_idioms={f"jnp.{idiom.__name__}(x)": idiom},
        source={"square": "P048"}.get(name, "P045" if name in EDGED else ""),
    )(_within(low, high))
