"""Records of the operators in `jaxgrad/functional/reduction/var_std.py`."""

import jax.numpy as jnp
import numpy as np
from hypothesis import strategies as st

from jaxgrad.parity.compare import Tolerance
from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats
from parity_tests.operators.reduction._shared import COMPLEX, INTEGERS


inf = np.inf


def spread(draw):
    """Draw dimensions that are long enough for every correction."""
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


IN_ORDER = {"float32": Tolerance(1e-6, "XLA adds the 70 numbers in another order")}
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
