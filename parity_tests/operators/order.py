"""Records of sorting, medians, quantiles and running extrema."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import dims, floats


inf, nan = np.inf, np.nan
EMPTY = np.zeros((0, 2))
TIES = [[2.0, 1.0, 2.0, 1.0, 2.0], [0.0, -0.0, 0.0, -1.0, inf], [3.0, 3.0, 3.0, 3.0, 3.0]]
WITH_NAN = [[1.0, nan, 2.0, 3.0], [nan, inf, nan, -inf], [nan, nan, nan, nan]]
EVEN = [[4.0, 1.0, 3.0, 2.0], [1.0, 2.0, 2.0, 3.0]]
NOT_EMPTY = RaisesFor(call(EMPTY, 0), IndexError, "to have non-zero")


UNSTABLE = "torch's sort of more than 16 elements is not stable unless it is asked to be"


def along(draw):
    x = draw(floats())
    return call(x, dim=draw(dims(x.ndim)))


def ordered(draw):
    sample = along(draw)
    stable = draw(st.sampled_from([{}, {"stable": True}]))
    return call(*sample.args, **sample.kwargs, descending=draw(st.booleans()), **stable)


@operator(
    "sort",
    points=[
        *(call(x, descending=down) for x in (TIES, WITH_NAN) for down in (False, True)),
        call(EMPTY),
        call(np.array(1.0)),
    ],
    jax_idioms={
        "jnp.sort(x)[..., ::-1]": lambda x, descending=False: (
            (jnp.flip(jnp.sort(x, -1), -1) if descending and x.ndim else jnp.sort(x))
            if x.ndim
            else x
        )
    },
    source="P065",
)
def sort(draw):
    return ordered(draw)


@operator(
    "argsort",
    differences=[
        PinnedDifference(
            call(np.zeros(17)),
            {"forward/0": (np.array([8, *range(16, 8, -1), 0, *range(7, 0, -1)]), np.arange(17))},
            UNSTABLE,
        )
    ],
    points=[call(TIES), call(TIES, descending=True), call(WITH_NAN)],
)
def argsort(draw):
    return ordered(draw)


@operator("msort", points=[call(TIES), call(np.array(1.0))])
def msort(draw):
    return call(draw(floats()))


@operator(
    "topk",
    differences=[
        PinnedDifference(
            call([3.0, 1.0, 3.0, 3.0, 0.0], 2),
            {
                "forward/1": (np.array([2, 3]), np.array([0, 2])),
                "gradient/0": ([0.0, 0.0, 1.0, 2.0, 0.0], [1.0, 0.0, 2.0, 0.0, 0.0]),
            },
            "torch leaves ties open: they are as its partial sort left them; ours keep their order",
        )
    ],
    points=[call(EVEN[:1], 2), call(EVEN[:1], 0), call(np.array(1.0), 1), call([1.0, nan, 2.0], 2)],
    raises=[RaisesFor(call(np.ones(2), 3), RuntimeError, "k out of range")],
)
def topk(draw):
    x = draw(floats())
    dim = draw(dims(x.ndim))
    k = draw(st.integers(0, x.shape[dim] if x.ndim else 1))
    return call(x, k, dim, draw(st.booleans()))


@operator(
    "kthvalue",
    differences=[
        PinnedDifference(
            call([2.0, 1.0, 1.0, 1.0, 3.0], 2),
            {
                "forward/1": (3, 2),
                "gradient/0": ([0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0, 0.0]),
            },
            "torch leaves ties open: they are as its selection left them; ours keep their order",
        )
    ],
    points=[call(EVEN[:1], 2), call([1.0, nan, 2.0], 3), call(np.array(1.0), 1)],
    raises=[
        RaisesFor(call(np.ones(2), 3), RuntimeError, "out of range"),
        RaisesFor(call(EMPTY, 1, 0), IndexError, "to have non-zero"),
    ],
    source="P066",
)
def kthvalue(draw):
    x = draw(floats())
    dim = draw(dims(x.ndim))
    k = draw(st.integers(1, x.shape[dim] if x.ndim else 1))
    return call(x, k, dim, draw(st.booleans()))


def middle(draw):
    x = draw(floats())
    return call(x) if draw(st.booleans()) else call(x, draw(dims(x.ndim)), draw(st.booleans()))


for name in ("median", "nanmedian"):
    operator(
        name,
        points=[
            *(call(x) for x in (EVEN, TIES, WITH_NAN)),
            *(call(x, 1) for x in (EVEN, TIES[1:], WITH_NAN[:2])),
            call(np.zeros(0)),
            call(np.array(1.0), 0),
            call(np.arange(4)),
        ],
        differences=[
            PinnedDifference(
                call([nan, nan]),
                {"tangent/0": (nan, 1.5)},
                "torch's forward mode counts what equals NaN; its gradient is 0.5 of each",
            )
        ]
        * (name == "nanmedian"),
        raises=[NOT_EMPTY],
        jax_idioms={f"jnp.{name}(x, dim)": getattr(jnp, name)},
        forward_mode="of NaN torch's forward mode is NaN, its gradient not" * (name == "median"),
        source="P063 P064",
    )(middle)


def repeated(draw):
    x = draw(floats())
    return call(np.asarray(np.round(x)), draw(dims(x.ndim)), draw(st.booleans()))


@operator(
    "mode",
    differences=[
        PinnedDifference(
            call([nan, 2.0, -1.0]),
            {
                "forward/0": (nan, -1.0),
                "forward/1": (0, 2),
                "gradient/0": ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0]),
            },
            "torch sorts by <, so that a NaN stays and what is at its sides is not compared",
        )
    ],
    points=[call(TIES), call(EVEN, 0), call([2.0, 1.0, 1.0, 3.0, 2.0]), call(np.array(1.0))],
    raises=[NOT_EMPTY],
    source="P066",
)
def mode(draw):
    return repeated(draw)


for name, idiom in (("cummax", jax.lax.cummax), ("cummin", jax.lax.cummin)):
    operator(
        name,
        points=[call(TIES, 1), call(WITH_NAN, 1), call(EMPTY, 0), call(np.array(1.0), 0)],
        jax_idioms={f"lax.{name}(x, dim)": lambda x, dim, f=idiom: f(x, dim) if x.ndim else x},
        source="P014",
    )(lambda draw: call(*repeated(draw).args[:2]))


def at_quantiles(draw):
    x = draw(floats())
    q = draw(st.one_of(st.floats(0, 1), floats((2,), 0.05, 0.95)))
    hows = ["linear", "lower", "higher", "midpoint", "nearest"]
    dim = draw(st.one_of(st.none(), dims(x.ndim)))
    return call(x, q, dim, draw(st.booleans()), interpolation=draw(st.sampled_from(hows)))


for name in ("quantile", "nanquantile"):
    operator(
        name,
        dtypes=("float64", "float32"),
        points=[
            call(EVEN, 0.5, 1),
            call(TIES[::2], 0.25, 1),
            call([1.0, 1.0, 2.0, 2.0, 2.0, 5.0, 7.0], 0.25, interpolation="nearest"),
            call(WITH_NAN[::2], 0.5, 1),
            call([1.0, 2.0, 4.0], [0.0, 0.5, 1.0]),
            call([1.0, inf, -inf, 2.0], [0.3, 0.5, 0.9]),
            call([nan], [0.0, 0.25, 1.0]),
        ],
        differences=[
            PinnedDifference(
                call(np.zeros(24), 0.25),
                {
                    "gradient/0": (
                        [0.0] * 18 + [0.75, 0.25] + [0.0] * 4,
                        [0.0] * 5 + [0.25, 0.75] + [0.0] * 17,
                    )
                },
                UNSTABLE,
            )
        ]
        if name == "nanquantile"
        else [
            PinnedDifference(
                call(np.zeros(24), 0.25, interpolation="lower"),
                {"gradient/0": (np.eye(24)[19], np.eye(24)[5])},
                UNSTABLE,
            )
        ],
        raises=[
            RaisesFor(call(np.ones(2), 1.5), RuntimeError, "q must be in"),
            RaisesFor(call(np.ones(2), [1.5]), RuntimeError, "q values must be"),
            RaisesFor(call(np.arange(2), 0.5), RuntimeError, "input tensor must"),
            RaisesFor(call(np.zeros(0), 0.5), RuntimeError, "non-empty"),
            RaisesFor(call(np.ones(2), np.ones((1, 1))), RuntimeError, "1D tensor"),
            RaisesFor(call(np.ones(2), 0.5, interpolation="x"), RuntimeError, "one of"),
        ],
        jax_idioms={
            f"jnp.{name}(x, q, dim)": lambda x, q, dim=None, interpolation="linear", f=name: (
                getattr(jnp, f)(x, q, dim, method=interpolation)
            )
        },
    )(at_quantiles)
