"""Record of the operator in `jaxgrad/functional/nn/multi_head_attention.py`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, masks


nan = np.nan


def small(shape: tuple[int, ...]) -> st.SearchStrategy[np.ndarray]:
    """Draw numbers too small to saturate a softmax, so that second derivatives do not cancel."""
    return floats(shape, -1.0, 1.0)


X = np.arange(8.0).reshape(2, 2, 2) / 4
W = np.eye(2)
TAIL = (np.tile(W, (3, 1)), None, None, None, False, 0.0, W, None)
MASKED = np.array([[False, True], [True, True]])


@operator(
    "multi_head_attention_forward",
    points=[
        call(X, X, X, 2, 1, *TAIL, attn_mask=MASKED),
        call(X, X, X, 2, 2, *TAIL, attn_mask=MASKED, need_weights=False),
        call(X, X, X, 2, 1, *TAIL, attn_mask=MASKED[::-1, ::-1].copy(), is_causal=True),
    ],
    raises=[
        RaisesFor(
            call(X, X, X, 3, 1, *TAIL),
            AssertionError,
            "expecting embedding dimension of 3, but got 2",
        ),
        RaisesFor(call(X, X, X, 2, 3, *TAIL), AssertionError, "not divisible by num_heads 3"),
        RaisesFor(call(X, X, X[:1], 2, 1, *TAIL), AssertionError, "does not match value"),
        RaisesFor(call(X, X, X, 2, 1, *TAIL, is_causal=True), RuntimeError, "Need attn_mask"),
        RaisesFor(call(X, X, X, 2, 1, *TAIL, attn_mask=MASKED[:1]), RuntimeError, "but should be"),
        RaisesFor(
            call(X, X, X, 2, 1, *TAIL, attn_mask=np.eye(2, dtype=int)),
            AssertionError,
            "types of attn_mask are",
        ),
    ],
    differences=[
        PinnedDifference(
            call(
                [[nan]],
                [[1.0]],
                [[1.0]],
                1,
                1,
                [[1.0], [2.0], [3.0]],
                None,
                None,
                None,
                False,
                0.0,
                [[2.0]],
                [1.0],
                need_weights=False,
            ),
            {"forward/0": (1.0, nan), "gradient/11": (0.0, nan)},
            "torch's fused kernel returns 0 for scores of NaN, see scaled_dot_product_attention",
        )
    ],
)
def multi_head_attention_forward(draw):
    batch, heads, width = draw(st.integers(1, 2)), draw(st.integers(1, 2)), draw(st.integers(1, 2))
    longest, keys, size = draw(st.integers(1, 3)), draw(st.integers(1, 3)), heads * width
    single, separate, extra = (draw(st.booleans()) for _ in range(3))
    batch = 1 if single else batch
    inner = () if single else (batch,)
    options = {"need_weights": draw(st.booleans()), "average_attn_weights": draw(st.booleans())}
    sizes = (size, 3, 2) if separate else (size,) * 3
    if separate:
        options["use_separate_proj_weight"] = True
        for name, n in zip("qkv", sizes, strict=True):
            options[f"{name}_proj_weight"] = draw(small((size, n)))
    kind = draw(st.sampled_from(["none", "bool", "float", "heads", "causal"]))
    if kind in ("bool", "causal"):
        mask = draw(masks((longest, keys)))
        options["attn_mask"] = np.triu(np.ones_like(mask), 1) if kind == "causal" else mask
        options["is_causal"] = kind == "causal"
        extra = extra and kind != "causal"  # torch's own causal mask excludes an appended key
    elif kind != "none":
        front = (batch * heads,) if kind == "heads" else ()
        options["attn_mask"] = draw(small((*front, longest, keys)))
    if draw(st.booleans()):
        padding = draw(masks((*inner, keys)))
        options["key_padding_mask"] = np.where(padding, -1.5, 0.5) if kind == "float" else padding
    fixed = not extra and draw(st.booleans())
    if fixed:
        for name in ("static_k", "static_v"):
            options[name] = draw(small((batch * heads, keys, width)))
    return call(
        draw(small((longest, *inner, size))),
        *(draw(small((keys, *inner, n))) for n in sizes[1:]),
        size,
        heads,
        None if separate else draw(small((3 * size, size))),
        draw(st.sampled_from([None, draw(small((3 * size,)))])),
        *(draw(small((1, 1, size))) if extra else None for _ in "kv"),
        not fixed and kind != "causal" and draw(st.booleans()),
        0.0,
        draw(small((size, size))),
        draw(small((size,))),
        draw(st.booleans()),
        **options,
    )
