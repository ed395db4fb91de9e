"""`jaxgrad.nnx.init` has torch's initialisers: the same distributions, values and gains."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import nnx as layers


OPTIONS = {
    "uniform": ({}, {"a": -1.0, "b": 3.0}),
    "normal": ({}, {"mean": 1.0, "std": 0.1}),
    "trunc_normal": ({}, {"std": 0.5, "a": -0.2, "b": 0.9}),
    "xavier_uniform": ({}, {"gain": 2.0}),
    "xavier_normal": ({}, {"gain": 2.0}),
    "kaiming_uniform": ({}, {"a": 5**0.5}, {"mode": "fan_out", "nonlinearity": "relu"}),
    "kaiming_normal": ({}, {"mode": "fan_out", "nonlinearity": "tanh"}),
}
SHAPE = (300, 100, 2)


def moments(x: np.ndarray) -> list[float]:
    """Return the mean, standard deviation, scaled fourth moment, minimum and maximum."""
    return [x.mean(), x.std(), (x**4).mean() ** 0.25, x.min(), x.max()]


@pytest.mark.parametrize("name", OPTIONS)
def test_random_initialisers_have_torchs_distribution(name):
    """60000 samples from each framework agree in mean, spread, fourth moment and bounds."""
    bounded = "normal" not in name or name.startswith("trunc")
    for options in OPTIONS[name]:
        torch.manual_seed(0)
        wanted = getattr(torch.nn.init, f"{name}_")(torch.empty(SHAPE), **options).numpy()
        got = np.asarray(getattr(layers.init, name)(**options)(jax.random.key(0), SHAPE))
        count = 5 if bounded else 3
        np.testing.assert_allclose(
            moments(got)[:count], moments(wanted)[:count], atol=0.02 * wanted.std()
        )


def test_deterministic_initialisers_return_torchs_values():
    """Initialisers without randomness return torch's arrays bit for bit."""
    for name, shape, args in (
        ("zeros", (2, 3), ()),
        ("ones", (2, 3), ()),
        ("constant", (2, 3), (0.3,)),
        ("eye", (2, 3), ()),
        ("dirac", (6, 3, 2), ()),
        ("dirac", (4, 3, 3, 2), (2,)),
        ("dirac", (4, 3, 3, 2, 4), ()),
    ):
        wanted = getattr(torch.nn.init, f"{name}_")(torch.empty(shape), *args).numpy()
        got = getattr(layers.init, name)(*args)(None, shape)
        np.testing.assert_array_equal(got, wanted, strict=True)


def test_orthogonal_and_sparse_initialisers_have_their_defining_properties():
    """`orthogonal` returns orthonormal rows or columns, `sparse` the requested share of zeros."""
    for shape in ((3, 5), (5, 3), (2, 2, 3)):
        q = np.asarray(layers.init.orthogonal(2.0)(jax.random.key(0), shape, jnp.float64))
        q = q.reshape(shape[0], -1)
        small = q @ q.T if q.shape[0] <= q.shape[1] else q.T @ q
        np.testing.assert_allclose(small, 4 * np.eye(len(small)), atol=1e-12)
    x = np.asarray(layers.init.sparse(0.3)(jax.random.key(0), (7, 500)))
    assert ((x == 0).sum(0) == 3).all() and abs(x[x != 0].std() - 0.01) < 1e-3


def test_gains_are_torchs():
    """`calculate_gain` returns torch's gains, and unknown names, slopes and modes raise."""
    for name in ("linear", "conv2d", "conv_transpose1d", "sigmoid", "tanh", "relu", "selu"):
        assert layers.init.calculate_gain(name) == torch.nn.init.calculate_gain(name)
    for slope in (None, 0.2, 1):
        wanted = torch.nn.init.calculate_gain("leaky_relu", slope)
        assert layers.init.calculate_gain("leaky_relu", slope) == wanted
    with pytest.raises(ValueError, match="Unsupported nonlinearity gelu"):
        layers.init.calculate_gain("gelu")
    with pytest.raises(ValueError, match="negative_slope True not a valid number"):
        layers.init.calculate_gain("leaky_relu", True)
    with pytest.raises(ValueError, match="Fan in and fan out can not be computed"):
        layers.init.kaiming_uniform()(jax.random.key(0), (3,))
    with pytest.raises(ValueError, match="Mode fan not supported"):
        layers.init.kaiming_uniform(mode="fan")(jax.random.key(0), (3, 3))
