"""Records of the operators in `jaxgrad/functional/reduction/cummax.py`."""

import jax
import numpy as np

from parity_tests.operators import call, operator
from parity_tests.operators.reduction._shared import EMPTY, TIES, WITH_NAN, repeated


for name, idiom in (("cummax", jax.lax.cummax), ("cummin", jax.lax.cummin)):
    operator(
        name,
        points=[call(TIES, 1), call(WITH_NAN, 1), call(EMPTY, 0), call(np.array(1.0), 0)],
        jax_idioms={f"lax.{name}(x, dim)": lambda x, dim, f=idiom: f(x, dim) if x.ndim else x},
        source="P014",
    )(lambda draw: call(*repeated(draw).args[:2]))
