"""Records of the operators in `jaxgrad/functional/loss/kl_div_gaussian_poisson.py`."""

import jax.numpy as jnp
import numpy as np
import optax
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import broadcast, floats, shapes
from parity_tests.operators.loss._shared import NONE, REDUCTIONS, UNKNOWN_REDUCTION, F, reduced


inf, nan = np.inf, np.nan


@operator(
    "kl_div",
    torch=F.kl_div,
    elementwise=True,
    points=[
        call([-1.0, -1.0, -inf, -1.0, 0.0], [0.0, 0.5, 0.5, -1.0, inf], **NONE),
        call([-1.0, -inf, nan], [-inf, 0.5, 1.0], **NONE, log_target=True),
        call([[-1.0, -2.0]], [[0.0, 1.0]]),
        call(np.zeros((0, 2)), np.zeros((0, 2)), **NONE),
    ],
    raises=[UNKNOWN_REDUCTION],
    jax_idioms={
        "optax.losses.kl_divergence(x, y)": lambda x, y, reduction="mean", log_target=False: (
            reduced(
                (optax.losses.kl_divergence_with_log_targets if log_target
                 else optax.losses.kl_divergence)(x, y), "mean"
            )
        )
    },
    source="P094 P095",
)  # fmt: skip
def kl_div(draw):
    left, right = draw(broadcast())
    logs = draw(st.booleans())
    x = draw(floats(left, -3, 0))
    y = draw(floats(right, -3 if logs else 0.1, 0 if logs else 1))
    reduction = draw(st.sampled_from(["none", "mean", "sum", "batchmean"]))
    return call(x, y, reduction=reduction, log_target=logs)


@operator(
    "gaussian_nll_loss",
    points=[
        call([1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0], [1e-8, 0.5, 0.0, 1e-6]),
        call([1.0, inf], [0.0, 1.0], [1.0, nan], reduction="none"),
        call([[1.0, 2.0]], [[0.0, 0.0]], 0.5),
    ],
    raises=[
        RaisesFor(call([1.0], [0.0], [-1.0]), ValueError, "var has negative"),
        RaisesFor(call([1.0], [0.0], -1.0), ValueError, "var has negative"),
        RaisesFor(
            call([1.0] * 3, [0.0] * 3, [1.0] * 2),
            ValueError,
            torch="incorrect size",
            jax="incorrect",
        ),
        RaisesFor(call([1.0], [0.0], [1.0], reduction="x"), ValueError, "x is not"),
    ],
    jax_idioms={
        "variance jnp.maximum(var, eps)": lambda x, y, var, reduction="mean": reduced(
            0.5 * (jnp.log(jnp.maximum(var, 1e-6)) + (x - y) ** 2 / jnp.maximum(var, 1e-6)),
            reduction,
        )
    },
    forward_mode="torch's forward mode differentiates the clamp, but its gradient does not",
    source="P100",
)
def gaussian_nll_loss(draw):
    shape = draw(shapes(low=1))
    kind = draw(st.sampled_from(["same", "short", "one"]))
    var = {"same": shape, "short": shape[:-1], "one": (*shape[:-1], 1)}[kind]
    x, y, v = draw(floats(shape)), draw(floats(shape)), draw(floats(var, 0.2, 2))
    eps = draw(st.sampled_from([{}, {"eps": 0.8}]))
    return call(x, y, v, draw(st.booleans()), reduction=draw(REDUCTIONS), **eps)


@operator(
    "poisson_nll_loss",
    elementwise=True,
    points=[
        call([0.0, 1.0, -inf, 800.0, nan], [0.0, 1.0, 1.0, 2.0, 1.0], **NONE),
        call([0.0, 1.0, 2.0, -1.0], [1.0, 0.0, 2.0, 1.0], log_input=False, **NONE),
        call([1.0, 1.0, 1.0], [0.0, 1.0, 2.0], full=True, **NONE),
        call(np.zeros((0, 2)), np.zeros((0, 2)), **NONE),
    ],
    raises=[UNKNOWN_REDUCTION],
)
def poisson_nll_loss(draw):
    left, right = draw(broadcast())
    logs, full = draw(st.booleans()), draw(st.booleans())
    x, y = draw(floats(left, 0.2, 2)), draw(floats(right, 0.2, 4))
    eps = draw(st.sampled_from([{}, {"eps": 1e-3}]))
    return call(x, y, logs, full, reduction=draw(REDUCTIONS), **eps)
