"""Record of the operator in `jaxgrad/functional/nn/embedding_bag.py`."""

import jax.numpy as jnp
import numpy as np
import torch
from hypothesis import strategies as st

from jaxgrad._core.torch_versions import COUNTS_OF_BAGS
from parity_tests.operators import PinnedDifference, RaisesFor, call, here, operator
from parity_tests.operators._harness.draw import floats, integers
from parity_tests.operators.nn._shared import TABLE


nan = np.nan


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
    differences=[]
    if here(COUNTS_OF_BAGS)
    else [
        PinnedDifference(
            call(
                np.array([[0, 1, 1], [1, 2, 0]]),
                np.ones((3, 1)),
                mode="sum",
                scale_grad_by_freq=True,
            ),
            {"gradient/1": ([[1.5], [2.0], [2 / 3]], [[1.5], [4 / 3], [2.0]])},
            "torch divides by the count of another row: it looks up the count by the index's "
            "position among the distinct indices, not by the index itself",
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
