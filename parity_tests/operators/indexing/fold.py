"""Records of the operators in `jaxgrad/functional/indexing/fold.py`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, one_or_each


inf, nan = np.inf, np.nan
IMAGE = np.ones((1, 2, 4, 4))


@operator(
    "unfold",
    points=[call([[[[1.0, inf], [nan, 0.0]]]], 1, padding=1)],
    raises=[
        RaisesFor(call(IMAGE, 5), RuntimeError, "at least one"),
        RaisesFor(call(IMAGE, 0), RuntimeError, "greater than zero"),
    ],
)
def unfold(draw):
    shape = (*draw(st.sampled_from([(), (2,)])), draw(st.integers(1, 2)), 4, 3)
    options = {"dilation": (1, 2), "padding": (0, 1), "stride": (1, 2)}
    drawn_options = {name: one_or_each(draw, 2, *bounds) for name, bounds in options.items()}
    return call(draw(floats(shape)), one_or_each(draw, 2, 1, 2), **drawn_options)


BLOCKS = np.ones((1, 8, 9))


@operator(
    "fold",
    raises=[
        RaisesFor(call(BLOCKS, (4, 5), 2), RuntimeError, torch="3 * 4 = 12", jax="blocks 12"),
        RaisesFor(call(BLOCKS[:, :7], 4, 2), RuntimeError, "to be divisible"),
    ],
)
def fold(draw):
    stride, dilation, padding = (draw(st.integers(*b)) for b in ((1, 2), (1, 2), (0, 1)))
    kernel, size = (draw(st.integers(1, 2)), 2), (4, draw(st.integers(3, 5)))
    blocks = [
        (n + 2 * padding - dilation * (k - 1) - 1) // stride + 1
        for n, k in zip(size, kernel, strict=True)
    ]
    shape = (*draw(st.sampled_from([(), (2,)])), 2 * kernel[0] * 2, blocks[0] * blocks[1])
    options = {"dilation": dilation, "padding": padding, "stride": stride}
    return call(draw(floats(shape)), size, kernel, **options)
