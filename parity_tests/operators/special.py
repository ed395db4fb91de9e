"""Records of `torch.special`: `gammas`, `bessel`, `normals`, and the names it has for others."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import jax.scipy.special as jss
import numpy as np
import torch
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from parity_tests.operators import PinnedDifference, RaisesFor, Sample, call, operator
from parity_tests.operators._harness.draw import broadcast, floats, integers


inf, nan = np.inf, np.nan
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 30.0, inf, -inf, 1e-8, 1e155]
WIDE = ("float64", "float32")


def _within(low: float, high: float) -> Callable[..., Sample]:
    def strategy(draw):
        return call(draw(floats(low=low, high=high)))

    strategy.__module__ = __name__
    return strategy


def _one(name: str, low: float, high: float, points: list[float], **more: Any) -> None:
    seen = [call(points), call([nan])]
    operator(name, elementwise=True, max_programs=3, points=seen, **more)(_within(low, high))


POLES = [0.0, -0.0, -1.5, -9.5, 1.0, 2.0, 0.5, 30.0, 1e10, inf]

_one(
    "lgamma",
    0.2,
    6,
    [*POLES, -1.0],
    jax_idioms={"jax.scipy.special.gammaln(x)": jss.gammaln},
    tolerance={"float32": Tolerance(2e-6, "XLA's float32 series is right to 6 ULP")},
    source="P041",
)
_one("digamma", 0.2, 6, POLES, jax_idioms={"jax.scipy.special.digamma(x)": jss.digamma})
for name in ("i0", "special.i0"):
    _one(
        name,
        -5,
        5,
        [*EDGES, 710.0, 1e-30],
        jax_idioms={"jnp.i0(x)": jnp.i0},
        source="P040",
        dtypes=WIDE,
    )
_one("special.i0e", -5, 5, EDGES, dtypes=WIDE)
_one("special.i1", -5, 5, EDGES[:-2], dtypes=WIDE, jax_idioms={"jax.scipy.special.i1(x)": jss.i1})
_one(
    "special.i1e", -5, 5, EDGES[:-2], dtypes=WIDE, jax_idioms={"jax.scipy.special.i1e(x)": jss.i1e}
)
_one("special.ndtr", -3, 3, EDGES)
_one(
    "special.ndtri",
    0.05,
    0.95,
    [0.0, 1.0, 0.5, 1e-8, 2.0],
    jax_idioms={"jax.scipy.special.ndtri(x)": jss.ndtri},
    dtypes=WIDE,
    source="P039",
)
_one(
    "special.log_ndtr",
    -6,
    3,
    [0.0, -1.0, 1.0, -6.0, 30.0, inf, -inf],
    differences=[
        PinnedDifference(
            call([-1e4, -1e10]),
            {"gradient/0": ([10000.000154100222, inf], [1e4 + 1e-4, 1e10])},
            "torch's gradient, exp(-x * x / 2 - log_ndtr(x)), cancels",
        )
    ],
    jax_idioms={"jax.scipy.special.log_ndtr(x)": jss.log_ndtr},
    dtypes=WIDE,
)
_one("special.erfcx", -3, 3, [0.0, 1.0, -20.0, 30.0, 1e4, -inf, inf], dtypes=WIDE)
_one(
    "special.entr",
    0.05,
    3,
    [0.0, -0.0, -1.0, 1.0, inf],
    jax_idioms={"jax.scipy.special.entr(x)": jss.entr},
)


@operator(
    "polygamma",
    max_programs=5,
    elementwise=True,
    points=[call(0, POLES), call(1, POLES), call(2, [0.0, -1.0, 1.0, 30.0, inf])],
    raises=[RaisesFor(call(-1, EDGES), RuntimeError, "negative n")],
    jax_idioms={"jax.scipy.special.polygamma(n, x)": jss.polygamma},
    dtypes=WIDE,
)
def polygamma(draw):
    return call(draw(st.integers(0, 3)), draw(floats(low=0.3, high=6)))


@operator(
    "mvlgamma",
    max_programs=4,
    elementwise=True,
    points=[call([2.0, 3.0, 0.4, 0.5, inf], 2), call([0.0, -0.0], 1)],
    raises=[RaisesFor(call(EDGES, 0), RuntimeError, "greater than or")],
)
def mvlgamma(draw):
    return call(draw(floats(low=1.2, high=6)), draw(st.integers(1, 3)))


def _whole(fun):
    """torch's, with whole numbers first: its gradient would round their lgamma to float32."""
    return lambda x, y: fun(x if x.requires_grad else x.to(y.dtype), y)


for name, forward in (
    ("igamma", jss.gammainc),
    ("igammac", jss.gammaincc),
):

    @operator(
        name,
        torch=_whole(getattr(torch, name)),
        max_programs=4,
        tolerance={"float32": Tolerance(4e-6, "XLA's float32 series is right to 11 ULP")},
        elementwise=True,
        points=[call(np.array([1, 2, 0, 3, 1]), [0.0, 1.0, 2.0, inf, -1.0])],
        raises=[
            RaisesFor(call([1.0], [2.0]), RuntimeError, jax="is not implemented", when="backward")
        ],
        jax_idioms={f"jax.scipy.special.{forward.__name__}(x, y)": forward},
        dtypes=WIDE,
    )
    def incomplete(draw):
        left, right = draw(broadcast())
        return call(draw(integers(left, 1, 5)), draw(floats(right, low=0.2, high=6)))


@operator(
    "special.zeta",
    max_programs=4,
    elementwise=True,
    points=[call(np.array([2, 3, 2, 3, 2, 1, 3]), [1.0, 0.0, -9.5, -1.0, 30.0, 2.0, -20.3])],
    raises=[RaisesFor(call([2.0], [2.0]), RuntimeError, jax="is not implemented", when="backward")],
    dtypes=WIDE,
)
def zeta(draw):
    left, right = draw(broadcast())
    return call(draw(integers(left, 2, 5)), draw(floats(right, low=0.2, high=6)))


SIDES = [0.0, -0.0, 1.0, -1.0, -2.0, inf, -inf, nan]
PAIRS = [np.repeat(SIDES, 8), np.tile(SIDES, 8)]


@operator(
    "special.xlog1py",
    elementwise=True,
    points=[call(*PAIRS)],
    jax_idioms={"jax.scipy.special.xlog1py(x, y)": jss.xlog1py},
)
def xlog1py(draw):
    left, right = draw(broadcast())
    return call(draw(floats(left)), draw(floats(right, low=-0.9)))
