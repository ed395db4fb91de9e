"""Records of sums, moments, extrema and logical reductions."""

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from parity_tests.operators import REAL, PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import WIDENED, dim_sets, dims, floats


inf, nan = np.inf, np.nan
COMPLEX = (*REAL, "complex128")
EMPTY = np.zeros((0, 2))
INTEGERS = np.arange(3)
TIES = [[1.0, 3.0, 3.0, 2.0, 3.0], [-1.0, -3.0, -3.0, -2.0, -3.0], [0.0, -0.0, -1.0, 0.0, 0.0]]
EDGES = [[1.0, nan, 3.0, nan], [inf, 1.0, inf, -inf], [-inf, -inf, -inf, -inf]]


def over(draw, **options):
    x = draw(floats())
    return call(x, draw(dim_sets(x.ndim)), keepdim=draw(st.booleans()), **options)


def spread(draw):
    """Along the first dim, which is long enough for every correction; the last; several; all."""
    x = draw(floats(dims=1))
    x = np.concatenate([x, x * 0.7 + 0.1, x * 0.3 - 1])
    options = draw(
        st.sampled_from(
            [{}, {"correction": 0}, {"correction": 2}, {"unbiased": False}, {"unbiased": True}]
        )
    )
    dim = draw(st.sampled_from([0, -x.ndim, (0,), tuple(range(x.ndim)), None]))
    older = draw(st.sampled_from([None, None, None, (True,), (0, False), (0, True, True)]))
    return call(x, *older) if older else call(x, dim, keepdim=draw(st.booleans()), **options)


def chosen(draw):
    x = draw(floats())
    if draw(st.booleans()):
        return call(x)
    return call(x, draw(dims(x.ndim)), draw(st.booleans()))


NO_INTEGERS = RaisesFor(call(INTEGERS), RuntimeError, "floating point")
TWICE = RaisesFor(call(np.ones(2), (0, 0)), RuntimeError, "multiple times")


@operator("sum", points=[call(EDGES, 1), call(EMPTY), call(EMPTY, 0), call(INTEGERS)],
          raises=[TWICE], dtypes=COMPLEX)  # fmt: skip
def total(draw):
    return over(draw, **draw(WIDENED))


@operator("mean", points=[call(EDGES, 1), call(EMPTY, 1), call(np.array(2.0))],
          raises=[NO_INTEGERS, TWICE], dtypes=COMPLEX)  # fmt: skip
def mean(draw):
    return over(draw, **draw(WIDENED))


@operator("nansum", points=[call(EDGES, 1), call(EMPTY), call(INTEGERS)])
def nansum(draw):
    return over(draw, **draw(WIDENED))


@operator(
    "nanmean",
    points=[call(EDGES[:2], 1), call([1.0, nan]), call([nan, nan])],
    raises=[NO_INTEGERS],
    jax_idioms={"jnp.nanmean(x, dim)": lambda x, dim=None: jnp.nanmean(x, dim)},
)
def nanmean(draw):
    return over(draw, **draw(WIDENED))


@operator(
    "prod",
    points=[
        call([[0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [1.0, -2.0, 0.5]], 1),
        call([0.0, 2.0, 3.0]),
        call([0.0, 0.0, 3.0]),
        call([2.0, inf, -3.0]),
        call([2.0, nan]),
        call(EMPTY),
        call(EMPTY, 0),
        call(np.array(2.0)),
        call(INTEGERS),
    ],
    differences=[
        PinnedDifference(
            call([0.0, inf]),
            {"second/0": ([2.0, nan], [2.0, 1.0])},
            "torch's second derivative divides a running product by the infinity",
        )
    ],
    jax_idioms={"jnp.prod(x, dim)": lambda x, dim=None: jnp.prod(x, dim)},
)
def prod(draw):
    x = draw(floats())
    if draw(st.booleans()):
        return call(x, **draw(WIDENED))
    return call(x, draw(dims(x.ndim)), draw(st.booleans()), **draw(WIDENED))


IN_ORDER = {"float32": Tolerance(1e-6, "the sum of 70 numbers is rounded in another order")}
CONSTANT = [[2.0, 2.0, 2.0], [1.0, 2.0, 4.0]]
for name, idiom in (("var", jnp.var), ("std", jnp.std)):
    operator(
        name,
        points=[
            call(CONSTANT, 1),
            call(CONSTANT, 1, correction=0),
            call([2.0], correction=0),
            call([1.0, 2.0, 4.0], correction=5),
            call([[inf, 1.0]]),
            call([0.37] * 4),
            call([2.0]),
        ],
        raises=[RaisesFor(call(INTEGERS), RuntimeError, "std and var only")],
        jax_idioms={f"jnp.{name}(x, dim)": lambda x, dim=None, f=idiom, **_: f(x, dim)},
        dtypes=COMPLEX,
        tolerance=IN_ORDER,
        source="P062" if name == "var" else "P027 P062",
    )(spread)

for name in ("var_mean", "std_mean"):
    operator(
        name,
        points=[
            call(CONSTANT, 1),
            call(np.array(2.0), correction=0),
            call([[1.0, inf], [inf, 1.0]], 1),
        ],
        tolerance=IN_ORDER,
    )(spread)


for name, idiom in (("amax", jnp.max), ("amin", jnp.min)):
    operator(
        name,
        points=[call(TIES), call(TIES, 1), call(EDGES), call(EDGES, 1), call(EMPTY, 1)],
        raises=[
            RaisesFor(call(EMPTY), RuntimeError, "to be specified"),
            RaisesFor(call(EMPTY, 0), IndexError, "to have non-zero"),
        ],
        jax_idioms={f"jnp.{idiom.__name__}(x, dim)": idiom},
        source="P013 P038",
    )(over)


@operator(
    "aminmax",
    points=[
        call(TIES),
        call(TIES, dim=1),
        call(EDGES),
        call(EDGES, dim=1),
        call(np.array(1.0), dim=0),
    ],
    raises=[RaisesFor(call(EMPTY), RuntimeError, "no identity")],
)
def aminmax(draw):
    x = draw(floats())
    dim = draw(st.one_of(st.none(), dims(x.ndim)))
    return call(x, dim=dim, keepdim=draw(st.booleans()))


for name, idiom in (("max", jnp.max), ("min", jnp.min)):
    operator(
        name,
        points=[call(TIES), call(TIES, 1), call(EDGES), call(EDGES, 1), call(np.array(1.0), 0)],
        raises=[
            RaisesFor(call(EMPTY), RuntimeError, "to be specified"),
            RaisesFor(call(EMPTY, 0), IndexError, "to have non-zero"),
        ],
        jax_idioms={f"jnp.{name}(x, dim)": idiom},
        forward_mode="of a NaN result torch's forward mode is NaN, its gradient is not",
        source="P012 P013 P038",
    )(chosen)


@operator(
    "logsumexp",
    points=[
        call([[1.0, -inf, 2.0], [-inf, -inf, -inf], [1e308, -1e308, 0.0]], 1),
        call([[inf, 1.0, 2.0], [nan, 1.0, 2.0], [inf, inf, -inf]], 1),
        call(INTEGERS, 0),
    ],
    differences=[
        PinnedDifference(
            call(EMPTY, 0),
            {"tangent/0": (nan, 0.0)},
            "torch's forward mode of an empty sum is 0 / 0",
        )
    ],
    jax_idioms={"jax.scipy.special.logsumexp(x, dim)": jax.scipy.special.logsumexp},
    source="P036",
)
def logsumexp(draw):
    x = draw(floats())
    dim = draw(dim_sets(x.ndim))
    return call(x, tuple(range(x.ndim)) if dim is None else dim, draw(st.booleans()))


def flags(draw):
    return np.asarray(np.round(draw(floats())))


for name in ("all", "any"):

    @operator(name, points=[call(EMPTY), call([nan, 0.0]), call(np.arange(2).astype(np.uint8))])
    def logical(draw):
        x = flags(draw)
        dim = draw(dim_sets(x.ndim))
        return call(x) if dim is None else call(x, dim, draw(st.booleans()))


@operator("count_nonzero", points=[call(EMPTY), call([nan, 0.0, -0.0])])
def count_nonzero(draw):
    x = flags(draw)
    return call(x, draw(dim_sets(x.ndim)))
