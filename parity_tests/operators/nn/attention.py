"""Record of the operator in `jaxgrad/functional/nn/attention.py`."""

from typing import Any

import jax
import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, masks


inf, nan = np.inf, np.nan
RNG = np.random.default_rng(0)
Q, K, V = (RNG.normal(size=(1, 1, 2, 2)) for _ in range(3))
MASKED = np.array([[True, False], [False, False]])


def _jax_idiom(q, k, v, attn_mask=None, is_causal=False):
    q, k, v = (x.swapaxes(-2, -3) for x in (q, k, v))
    boolean = attn_mask is not None and attn_mask.dtype == bool
    options: Any = {
        "mask" if boolean else "bias": None if attn_mask is None else attn_mask[None, None]
    }
    out = jax.nn.dot_product_attention(q, k, v, is_causal=is_causal, **options)
    return out.swapaxes(-2, -3)


@operator(
    "scaled_dot_product_attention",
    source="P042",
    points=[
        call(Q, K, V, MASKED),
        call(Q, K, V, np.where(MASKED, 0.0, -inf)),
        call(Q[0, 0], K[0, 0], V[0, 0], MASKED),
        call(Q[0, 0], K[0, 0], V[0, 0], np.array([[inf, 0.0], [nan, 0.0]])),
        call(Q[0, 0], K[0, 0], V[0, 0], is_causal=True),
    ],
    raises=[
        RaisesFor(
            call(Q, K, V, np.ones((2, 2), int)), RuntimeError, torch="attn_mask.dtype", jax="int64"
        ),
        RaisesFor(call(Q, K.astype("f4"), V), RuntimeError, torch="same dtype", jax="float32"),
        RaisesFor(
            call(Q[0, 0, 0], K[0, 0, 0], V[0, 0, 0]),
            RuntimeError,
            torch="2 dimensional",
            jax="2 dim",
        ),
        RaisesFor(
            call(np.ones((1, 3, 2, 2)), *[np.ones((1, 2, 2, 2))] * 2, enable_gqa=True),
            RuntimeError,
            torch="must divide",
            jax="they are 2 and 3",
        ),
    ],
    differences=[
        PinnedDifference(
            call([[[[nan]]]], [[[[1.0]]]], [[[[2.0]]]]),
            {"forward/0": (0.0, nan)},
            "for scores of NaN torch's fused kernel returns 0 with fewer than 8 keys (float64), "
            "but NaN with 8 keys, with a mask and in its math backend",
        )
    ],
    jax_idioms={
        "jax.nn.dot_product_attention(q, k, v)": lambda *a, **k: (
            _jax_idiom(*a, **k) if a[0].ndim == 4 else a[2] * 1.0
        )
    },
)
def scaled_dot_product_attention(draw):
    heads, groups = draw(st.sampled_from([(2, 2), (2, 1), (4, 2)]))
    long, short = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    width = draw(st.integers(1, 3))
    batch = draw(st.sampled_from([(), (2,)]))
    shape = (*batch, groups, short)
    kind = draw(st.integers(0, 3))
    masks_by_kind = {
        0: None,
        1: draw(masks((long, short))),
        2: draw(floats((*batch, 1, long, short))),
        3: None,
    }
    return call(
        draw(floats((*batch, heads, long, width))),
        draw(floats((*shape, width))),
        draw(floats((*shape, width + draw(st.integers(0, 1))))),
        masks_by_kind[kind],
        is_causal=kind == 3,
        scale=draw(st.sampled_from([None, 0.3])),
        enable_gqa=heads != groups,
    )
