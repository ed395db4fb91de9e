"""`jaxgrad.nnx` dropout layers match torch's in distribution."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import nnx as layers
from tests.jaxgrad.nnx._helpers import check_constructor_error, rngs


DROPOUTS = "Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout".split()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", DROPOUTS)
def test_dropout_layers_match_torch_in_distribution(name):
    """Each dropout yields torch's values at torch's rate, and a new mask in each training call."""
    shape = {"Dropout1d": (50, 40, 3), "Dropout3d": (50, 40, 2, 2, 2)}.get(name, (50, 40, 2, 2))
    torch.manual_seed(0)
    wanted = getattr(torch.nn, name)(0.25)(torch.ones(shape)).numpy()
    layer = getattr(layers, name)(0.25, rngs=rngs())
    got = np.asarray(layer(jnp.ones(shape)))
    values = [np.unique(np.round(output, 5)) for output in (wanted, got)]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-5)
    whole_channels = name in ("Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout")
    for output in (wanted, got):
        kept = output.reshape(2000, -1) == output.max()
        assert (kept.all(1) | ~kept.any(1)).all() == whole_channels
        assert abs(kept.mean() - 0.75) < 0.05
    assert (np.asarray(layer(jnp.ones(shape))) != got).any()
    layer.eval()
    assert (layer(jnp.ones(shape)) == 1).all()


def test_an_explicit_key_determines_the_mask():
    """Two calls with the same key give the same output; without keys a training call raises."""
    layer = layers.Dropout(0.5)
    key = jax.random.key(1)
    np.testing.assert_array_equal(layer(jnp.ones(9), key=key), layer(jnp.ones(9), key=key))
    with pytest.raises(ValueError, match="key"):
        layer(jnp.ones(9))


def test_a_rate_above_one_is_rejected():
    """`Dropout` rejects a probability that is greater than 1."""
    check_constructor_error(
        lambda nn: nn.Dropout(1.5), "dropout probability has to be between 0 and 1, but"
    )
