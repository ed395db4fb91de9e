"""A template lists the floating leaves of params by path, and puts others in their place."""

import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from jaxgrad.parity.prove.weights.template import Template


PARAMS = {"a": {"w": np.ones((2, 3), np.float32)}, "n": np.arange(2), "rate": 0.5, "name": "x"}


def test_only_floating_arrays_are_leaves():
    """Integers, Python numbers and text are kept as they are."""
    assert list(Template(PARAMS).leaves) == ["a/w"]


def test_leaves_are_replaced_in_the_dtype_of_the_old_ones():
    """A leaf that is not replaced keeps its object."""
    filled = Template(PARAMS).filled({"a/w": np.full((2, 3), 2.0)})

    assert filled["a"]["w"].dtype == jnp.float32
    assert np.all(filled["a"]["w"] == 2)
    assert filled["n"] is PARAMS["n"]
    assert Template(PARAMS).filled({})["a"]["w"] is PARAMS["a"]["w"]


@pytest.mark.filterwarnings("ignore")
def test_a_module_is_filled_like_a_tree():
    """An nnx module comes back as a module, and the old one is unchanged."""
    module = nnx.Linear(2, 2, rngs=nnx.Rngs(0))
    template = Template(module)
    path = next(path for path in template.leaves if "kernel" in path)
    filled = template.filled({path: np.zeros((2, 2), np.float32)})

    assert isinstance(filled, nnx.Linear)
    assert not np.any(filled.kernel[...])
    assert np.any(module.kernel[...])
