"""Runs of similar modules are merged into one lane."""

# torch, flax and numpy declare results as unions; the tests know the actual type.
# pyright: reportArgumentType=false, reportCallIssue=false, reportIncompatibleMethodOverride=false

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgrad.graph import backward_graph, side_by_side
from parity_tests.case import load
from parity_tests.cases import mobilenet
from tests.jaxgrad.graph.programs import texts


CASES = load()


@pytest.mark.slow
def test_mobilenet_is_legible():
    """MobileNetV2's 158 parameters and over 700 operations are drawn with under 45 texts."""
    inputs = CASES["mobilenet/all_gradients"].inputs
    shapes = {
        name: jax.ShapeDtypeStruct(leaf.sample(np.random.default_rng(0)).shape, "float32")
        for name, leaf in inputs["weights"].items()
    }
    buffers = {name: s for name, s in shapes.items() if mobilenet._is_buffer(name)}
    params = {name: s for name, s in shapes.items() if name not in buffers}

    def objective(params, buffers, mask, x):
        return jnp.sum(mobilenet._forward(params, buffers, mask, x)[0] ** 2)

    mask = jax.ShapeDtypeStruct((4, mobilenet.LAST), "float32")
    x = jax.ShapeDtypeStruct((4, 3, 64, 64), "float32")
    graph = backward_graph(objective, params, buffers, mask, x)
    words = texts(side_by_side({"MobileNetV2": graph}))

    assert len(graph.ops) > 700
    for lane in ("features.0", "features.1", "features.2 … 17 ×16", "features.18", "classifier.1"):
        assert lane in words
    assert len(words) < 45
