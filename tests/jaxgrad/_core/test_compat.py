"""What stands in for functions that older versions of JAX lack."""

import jax
import jax.numpy as jnp
import numpy as np
import torch

from jaxgrad._core.compat import erfcx, erfcx_series


X = np.concatenate([np.linspace(-26, 60, 4001), np.logspace(-12, 300, 400), [np.inf, -np.inf]])


def test_the_series_is_torchs_scaled_complementary_error_function():
    actual = jax.jit(erfcx_series)(jnp.asarray(X))

    np.testing.assert_allclose(actual, torch.special.erfcx(torch.tensor(X)), rtol=2e-15)
    assert np.isnan(erfcx_series(jnp.asarray(np.nan)))


def test_jaxs_own_function_is_used_where_there_is_one():
    own = getattr(jax.scipy.special, "erfcx", None)

    assert erfcx is (own or erfcx_series)
