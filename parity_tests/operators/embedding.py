"""Records of embeddings, their bags and linear maps."""

import jax.numpy as jnp
import numpy as np
import torch
from hypothesis import strategies as st

from parity_tests.operators import PinnedDifference, RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, integers, shapes


nan = np.nan
TABLE = np.array([[3.0, 4.0], [0.3, 0.4], [1.0, -2.0]])
TWICE = np.array([0, 0, 2])
AGAIN, ONCE = [[1, 2], [1, 2], [5, 6]], [[0.5, 1], [0.5, 1], [5, 6]]  # 1, 2, 3, ... looked up


def _torch_embedding(input, weight, padding_idx=None, max_norm=None, *args, **kwargs):
    """torch's; with max_norm on a copy, because it writes the scaled rows into the table."""
    if max_norm is not None:
        weight = weight.clone()
    return torch.nn.functional.embedding(input, weight, padding_idx, max_norm, *args, **kwargs)


@operator(
    "embedding",
    torch=_torch_embedding,
    points=[
        call(TWICE, TABLE, 0),
        call(TWICE, TABLE, max_norm=1.0),
        call(TWICE, np.zeros((3, 2)), max_norm=0.0),
        call(np.array(2), TABLE, -1),
    ],
    differences=[
        PinnedDifference(
            call(TWICE, TABLE, scale_grad_by_freq=True),
            {"transpose/0": (AGAIN, ONCE)},
            "torch's second derivative forgets scale_grad_by_freq; ours is that of its gradient",
        )
    ],
    raises=[
        RaisesFor(call(np.array([3]), TABLE), IndexError, torch="out of range", jax="rows 0 to 2"),
        RaisesFor(call(np.array([-1]), TABLE), IndexError, torch="out of range", jax="rows 0 to 2"),
        RaisesFor(call(TWICE, TABLE, 3), AssertionError, "Padding_idx"),
        RaisesFor(call(TWICE, TABLE[0]), RuntimeError, "2-D"),
        RaisesFor(call([1.0], TABLE), RuntimeError, "scalar types"),
    ],
    forward_mode="torch's forgets padding_idx",
    jax_idioms={"w[i]": lambda i, w, *_, **__: w[i]},
    source="P071 P102 P103 P104",
)
def embedding(draw):
    rows = draw(st.integers(1, 4))
    return call(
        draw(integers(draw(shapes()), 0, rows)),
        draw(floats((rows, draw(st.integers(1, 3))))),
        padding_idx=draw(st.sampled_from([None, rows - 1, -rows])),
        max_norm=draw(st.sampled_from([None, 1.0])),
        norm_type=draw(st.sampled_from([2.0, 1.0, 3.0])),
    )


def _torch_bag(input, weight, offsets=None, max_norm=None, *args, **kwargs):
    if max_norm is not None:
        weight = weight.clone()
    return torch.nn.functional.embedding_bag(input, weight, offsets, max_norm, *args, **kwargs)


def _jax_bag(i, w, mode="mean", **_):
    return {"mean": jnp.mean, "max": jnp.max, "sum": jnp.sum}[mode](w[i], 1)


BAGS = np.array([0, 1, 2])


@operator(
    "embedding_bag",
    max_programs=5,
    torch=_torch_bag,
    points=[
        call(np.array([[0, 0, 1]]), TABLE, padding_idx=1),
        call(np.array([[1, 1]]), TABLE, padding_idx=1),
        call(np.array([[1, 1]]), TABLE, padding_idx=1, mode="max"),
        call(np.array([[0, 1, 2], [2, 1, 0]]), np.ones((3, 2)), mode="max"),
        call(np.array([[0, 1], [1, 0]]), [[1.0, nan], [2.0, 1.0]], mode="max"),
        call(BAGS, TABLE, np.array([0, 0, 3]), mode="max"),
        call(BAGS, TABLE, np.array([0, 2]), include_last_offset=True),
        call(np.array([[0, 2]]), TABLE, mode="sum", per_sample_weights=[[2.0, -1.0]]),
        call(np.array([[0, 2]]), TABLE, max_norm=1.0),
    ],
    differences=[
        PinnedDifference(
            call(
                np.array([[0, 1, 1], [1, 2, 0]]),
                np.ones((3, 1)),
                mode="sum",
                scale_grad_by_freq=True,
            ),
            {"gradient/1": ([[1.5], [2.0], [2 / 3]], [[1.5], [4 / 3], [2.0]])},
            "torch divides by the count of another row: it looks the count up by the place among "
            "the different indices, not by the index",
        )
    ],
    raises=[
        RaisesFor(
            call(np.array([[3]]), TABLE), RuntimeError, torch="Expected idx", jax="rows 0 to 2"
        ),
        RaisesFor(
            call(np.array([[-1]]), TABLE), RuntimeError, torch="Expected idx", jax="rows 0 to 2"
        ),
        RaisesFor(call(BAGS, TABLE, np.array([1])), RuntimeError, "has to be 0"),
        RaisesFor(call(BAGS, TABLE, np.array([0, 4])), RuntimeError, "length 3"),
        RaisesFor(call(BAGS, TABLE), ValueError, "1D Tensor"),
        RaisesFor(call(BAGS[None], TABLE, BAGS), ValueError, "has to be None"),
        RaisesFor(call(BAGS[None], TABLE, mode="min"), ValueError, "one of sum"),
        RaisesFor(
            call(BAGS[None], TABLE, per_sample_weights=np.ones((1, 3))),
            NotImplementedError,
            "only supported",
        ),
        RaisesFor(
            call(BAGS[None], TABLE, padding_idx=3),
            RuntimeError,
            torch="-3 through 2",
            jax="-3 thro",
        ),
    ],
    jax_idioms={"mode(w[i], 1)": lambda i, w, *a, **k: _jax_bag(i, w, **k) if not a else w},
    source="P105",
)
def embedding_bag(draw):
    rows = draw(st.integers(1, 4))
    weight = draw(floats((rows, 2)))
    mode = draw(st.sampled_from(["sum", "mean", "max"]))
    padding = draw(st.sampled_from([None, 0, -1]))
    if draw(st.booleans()):
        index = draw(integers((draw(st.integers(1, 3)), draw(st.integers(1, 4))), 0, rows))
        factors = draw(floats(index.shape)) if mode == "sum" else None
        more = draw(st.sampled_from([{}, {"max_norm": 2.0}, {"max_norm": 2.0, "norm_type": 1.0}]))
        more |= {"per_sample_weights": factors, "padding_idx": padding}
        return call(index, weight, mode=mode, **more)
    index = draw(integers((5,), 0, rows))
    offsets = np.array([0, *sorted(draw(integers((2,), 0, 6)).tolist())])
    return call(
        index,
        weight,
        offsets,
        mode=mode,
        padding_idx=padding,
        include_last_offset=draw(st.booleans()),
    )


@operator(
    "one_hot",
    jit=False,
    num_samples=10,
    points=[call(np.zeros((0, 2), int), 3), call(np.array(1), 3)],
    raises=[
        RaisesFor(call(np.array([2]), 2), RuntimeError, "smaller than"),
        RaisesFor(call(np.array([-2]), 2), RuntimeError, "non-negative"),
        RaisesFor(call(np.zeros(0, int)), RuntimeError, "Can not infer"),
        RaisesFor(call(np.ones(2)), RuntimeError, "LongTensor"),
    ],
)
def one_hot(draw):
    return call(draw(integers(draw(shapes()), 0, 4)), draw(st.sampled_from([-1, 4, 6])))


@operator(
    "linear",
    points=[
        call(np.ones((0, 3)), np.ones((2, 3))),
        call(np.ones((2, 3)), np.ones(3)),
        call([1.0, nan], np.ones((3, 2)), [0.0, 1.0, nan]),
    ],
    raises=[
        RaisesFor(call(np.ones((2, 3)), np.ones((4, 2))), RuntimeError, "multiplied"),
        RaisesFor(
            call(np.ones((2, 3)), np.ones((4, 3)), np.ones(3)), RuntimeError, "expanded size"
        ),
        RaisesFor(call(np.ones((2, 3)), np.ones((4, 3), "f4")), RuntimeError, "same dtype"),
        RaisesFor(call(np.array(2.0), np.ones((4, 3))), RuntimeError, "at least 1D"),
    ],
    dtypes=("float64", "float32", "bfloat16", "float16", "complex128"),
)
def linear(draw):
    size, out = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    bias = draw(st.one_of(floats((out,)), st.none()))
    return call(draw(floats((*draw(shapes()), size))), draw(floats((out, size))), bias)


@operator(
    "bilinear",
    raises=[
        RaisesFor(
            call(np.ones((2, 3)), np.ones((2, 4)), np.ones((5, 3, 3))),
            RuntimeError,
            "does not match weight size",
        ),
        RaisesFor(
            call(np.ones((2, 3)), np.ones((3, 4)), np.ones((5, 3, 4))),
            RuntimeError,
            "batch dimensions",
        ),
        RaisesFor(
            call(np.ones((2, 3)), np.ones((2, 4)), np.ones((5, 3, 4)), np.ones(4)),
            RuntimeError,
            "got 4 but expected 5",
        ),
        RaisesFor(
            call(np.ones((2, 3)), np.ones((2, 4)), np.ones((5, 3, 4)), np.ones(5, "f4")),
            RuntimeError,
            torch="same dtype",
            jax="bias of float32",
        ),
    ],
)
def bilinear(draw):
    batch = draw(shapes(high=2))
    one, two, out = (draw(st.integers(1, 3)) for _ in range(3))
    return call(
        draw(floats((*batch, one))),
        draw(floats((*batch, two))),
        draw(floats((out, one, two))),
        draw(st.one_of(floats((out,)), st.none())),
    )
