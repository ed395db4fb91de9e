"""Records of the operators in `jaxgrad/functional/reduction/all_any.py`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import call, operator
from parity_tests.operators._harness.draw import dim_sets, floats


nan = np.nan
EMPTY = np.zeros((0, 2))


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
