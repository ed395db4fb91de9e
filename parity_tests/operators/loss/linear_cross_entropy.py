"""Record of the operator in `jaxgrad/functional/loss/linear_cross_entropy.py`."""

import numpy as np
from hypothesis import strategies as st

from parity_tests.operators import RaisesFor, call, operator
from parity_tests.operators._harness.draw import floats, integers
from parity_tests.operators.loss._shared import (
    LABEL,
    REDUCTIONS,
    ROW,
    THREE,
    with_weights_in_input_dtype,
)


@operator(
    "linear_cross_entropy",
    since="2.13",
    torch=with_weights_in_input_dtype("linear_cross_entropy"),
    points=[call(THREE, np.eye(3), np.array([0, -100, 2])), call(THREE, np.eye(3), np.eye(3))],
    raises=[
        RaisesFor(
            call(ROW, np.ones((3, 2)), LABEL),
            RuntimeError,
            torch="expected equal input and",
            jax="last dimensions (in_features), got",
        ),
        RaisesFor(
            call(ROW, np.eye(3), ROW, ignore_index=1),
            RuntimeError,
            torch="ignore_index cannot be specified",
            jax="leave ignore_index=1 out",
        ),
    ],
)
def linear_cross_entropy(draw):
    """Draw labels or probabilities, spatial sizes, and some of the options."""
    classes, features, places = 3, draw(st.integers(1, 3)), draw(st.sampled_from([(), (2,)]))
    batch = draw(st.sampled_from([(), (2,)])) if not places else (2,)
    options = {"reduction": draw(REDUCTIONS)}
    if draw(st.booleans()):
        options["linear_bias"] = draw(floats((classes, *places)))
    if draw(st.booleans()):
        options["weight"] = draw(integers((classes,), 1, 4))
    options["label_smoothing"] = draw(st.sampled_from([0.0, 0.2]))
    if draw(st.booleans()):
        target = draw(floats((*batch, classes, *places), 0.0, 1.0))
    else:
        target = draw(integers((*batch, *places), 0, classes))
        options["ignore_index"] = draw(st.sampled_from([None, 1]))
    x, w = draw(floats((*batch, features))), draw(floats((classes, *places, features)))
    return call(x, w, target, **options)
