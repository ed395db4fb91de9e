"""Records of the operators in `jaxgrad/functional/reduction/distance.py`."""

import jax.numpy as jnp
import numpy as np
import optax
from hypothesis import strategies as st

from jaxgrad._core.torch_versions import SECOND_OF_DISTANCES
from parity_tests.operators import PinnedDifference, RaisesFor, call, here, operator
from parity_tests.operators._harness.draw import broadcast, dims, floats, shapes


inf, nan = np.inf, np.nan
ORDERS = [0.5, 1.0, 1.5, 2.0, 3.0, inf]
POWERS = st.sampled_from(ORDERS)
SAME = [[0.0, 1.0], [2.0, 3.0]]
ROWS = [[0.0, 1.0], [0.0, 1.0], [5.0, 1.0]]
SECOND = here(SECOND_OF_DISTANCES)
CONTRADICTS = (
    "torch's second derivative has a formula of its own: with respect to the cotangent it takes "
    "the sign of a difference that is NaN or infinite, whose gradient is NaN"
)
NOT_FINITE = {  # calls of `pdist`, with the second derivatives of torch and of JAX
    call([[nan], [1.0]], 1.0): {"second/0": (nan, [[-1.0], [1.0]]), "transpose/0": (0.0, nan)},
    call([[0.0, inf], [1.0, 2.0], [1.0, 3.0]], inf): {
        "second/0": ([[0.0, nan]] * 3, 0.0),
        "transpose/0": ([-2.0, -4.0, 2.0], [nan, nan, 2.0]),
    },
    call([[0.0, nan], [1.0, 2.0], [1.0, 3.0]], inf): {
        "second/0": (nan, 0.0),
        "transpose/0": ([0.0, 0.0, 2.0], [nan, nan, 2.0]),
    },
}
FAR = call([[0.0, inf], [1.0, 2.0]], [[5.0, 1.0], [1.0, 2.0]], inf)


@operator(
    "pairwise_distance",
    points=[
        *(call(SAME, SAME, p) for p in (1.0, 2.0)),
        *(call(SAME, SAME, p, eps=0.0) for p in ORDERS),
        *(call([[1.0, x], [1.0, 2.0]], [[0.0, 1.0]], 0.5, eps=0.0) for x in (inf, nan)),
    ],
    jax_idioms={"jnp.linalg.norm(x - y)": lambda x, y, p, eps=1e-6: jnp.linalg.norm(x - y, p, -1)},
    source="P025",
)
def pairwise_distance(draw):
    left, right = draw(broadcast())
    x, y = draw(floats((*left, 3))), draw(floats((*right, 3), -4.0, 2.0))
    return call(x, y, draw(POWERS), keepdim=draw(st.booleans()))


@operator(
    "cosine_similarity",
    points=[
        call([[0.0, 0.0, 0.0]], [[1.0, 2.0, 3.0]]),
        call([[0.0, 0.0, 0.0]], [[0.0, 0.0, 0.0]]),
        call([[1e-9, 0.0, 0.0]], [[1.0, 2.0, 3.0]]),
        call([[1e-10, 2e-10, -1e-10]], [[1e-10, 1e-10, 0.0]]),
        call([[1e-10, 2e-10, -1e-10]], [[0.0, 0.0, 0.0]]),
        call([1.0, 2.0], [2.0, 4.0], dim=0),
    ],
    raises=[RaisesFor(call(np.arange(2), np.arange(2), dim=0), RuntimeError, "common dtype")],
    jax_idioms={
        "optax.cosine_similarity(x, y, epsilon=eps)": lambda x, y, dim=1: optax.cosine_similarity(
            x, y, epsilon=1e-8, axis=dim
        ),
    },
    forward_mode="torch's forward mode differentiates the clamp, but its gradient does not",
    source="P029",
)
def cosine_similarity(draw):
    left, right = draw(broadcast())
    ndim = max(len(left), len(right), 1)
    x, y = draw(floats(left or (1,))), draw(floats(right or (1,)))
    eps = draw(st.sampled_from([{}, {}, {"eps": 1e-6}, {"eps": 2.0}]))
    return call(x, y, dim=draw(dims(ndim)), **eps)


@operator(
    "pdist",
    dtypes=("float64", "float32"),
    points=[
        *(call(ROWS, p) for p in (0.0, *ORDERS)),
        *(sample for sample in NOT_FINITE if not SECOND),
        call(np.zeros((1, 2))),
        call([[1.0, nan], [1.0, 2.0], [inf, 1.0]], 0.0),
    ],
    differences=[
        PinnedDifference(sample, sides, CONTRADICTS)
        for sample, sides in NOT_FINITE.items()
        if SECOND
    ],
    raises=[
        RaisesFor(call(np.ones(2)), RuntimeError, "only supports 2D"),
        RaisesFor(call(np.ones((2, 2)), -1.0), RuntimeError, "non-negative p"),
        RaisesFor(call(np.ones((2, 2), int)), RuntimeError, "floating-point"),
    ],
    jax_idioms={
        "jnp.linalg.norm(x[i] - x[j], ord=p)": lambda x, p=2.0: jnp.linalg.norm(
            x[np.triu_indices(len(x), 1)[0]] - x[np.triu_indices(len(x), 1)[1]], p, -1
        )
    },
    source="P024",
)
def pdist(draw):
    return call(draw(floats(draw(shapes(2, 2)))), draw(POWERS))


@operator(
    "cdist",
    max_programs=5,
    dtypes=("float64", "float32"),
    points=[
        *(call(SAME, [[0.0, 1.0], [5.0, 3.0]], p) for p in (0.0, *ORDERS)),
        *([] if SECOND else [FAR]),
        call(np.zeros((0, 2)), np.zeros((3, 2))),
        call([[1.0, nan], [1.0, 2.0]], [[1.0, 2.0], [inf, 1.0]], 0.0),
    ],
    differences=[
        PinnedDifference(
            call([[nan, 0.0]], [[1.0, 2.0]], inf),
            {
                "forward/0": (2.0, nan),
                "gradient/0": ([[nan, -1.0]], nan),
                "gradient/1": ([[nan, 1.0]], nan),
            },
            "torch ignores a NaN in this maximum, but not in pdist's",
        ),
        *(
            PinnedDifference(
                FAR,
                {
                    "second/0": ([[0.0, nan], [0.0, 0.0]], 0.0),
                    "second/1": ([[0.0, nan], [0.0, nan]], 0.0),
                    "transpose/0": ([[0.0, -2.0], [-2.0, 0.0]], [[nan, nan], [-2.0, 0.0]]),
                },
                CONTRADICTS,
            )
            for _ in range(SECOND)
        ),
    ],
    raises=[
        RaisesFor(call(np.ones((2, 2)), np.ones((2, 3))), RuntimeError, "same number"),
        RaisesFor(call(np.ones((2, 2)), np.ones(2)), RuntimeError, "at least 2D"),
        RaisesFor(call(np.ones((2, 2)), np.ones((2, 2)), -1.0), RuntimeError, "non-neg"),
    ],
    jax_idioms={
        "jnp.linalg.norm(x[:, None] - y[None], ord=p)": lambda x, y, p=2.0: jnp.linalg.norm(
            x[:, None] - y[None], p, -1
        )
    },
    source="P024",
)
def cdist(draw):
    rows, others, width = (draw(st.integers(1, 4)) for _ in range(3))
    left, right = draw(broadcast())
    x = draw(floats((*left, rows, width)))
    modes = ["use_mm_for_euclid_dist_if_necessary", "donot_use_mm_for_euclid_dist"]
    mode = {"compute_mode": draw(st.sampled_from(modes))}
    return call(x, draw(floats((*right, others, width))), draw(POWERS), **mode)


@operator(
    "dist",
    points=[
        *(call([1.0, 2.0], [1.0, 2.0], p) for p in (0.5, 1, 2, 3, inf)),
        call([1.0, 2.0], [1.0, 4.0], inf),
    ],
    jax_idioms={"jnp.linalg.norm(x - y, ord=p)": lambda x, y, p: jnp.linalg.norm(x - y, ord=p)},
    source="P024",
)
def dist(draw):
    left, right = draw(broadcast())
    return call(draw(floats(left)), draw(floats(right)), draw(st.sampled_from([0.5, 1, 2, 3, inf])))
