"""The figure of a critic's slope is the same training in both frameworks."""

import numpy as np

from parity_tests.figures import critic_slope


def test_both_frameworks_train_alike(monkeypatch):
    """The slopes agree in both frameworks; the penalty holds them near 1, its absence does not."""
    monkeypatch.setattr(critic_slope, "STEPS", 60)
    record = critic_slope.record()

    for slopes in record:
        np.testing.assert_allclose(slopes.torch, slopes.jax, rtol=1e-9)
    assert abs(record.penalized.torch[-1] - 1) < 0.2
    assert record.free.torch[-1] > 1.5


def test_the_first_slope_is_the_norm_of_a_gradient_by_finite_differences():
    """The slope before training is the norm of the critic's numerical gradient."""
    real, fake, w, v = critic_slope._data()
    between, step = (real + fake) / 2, 1e-6

    def critic(x):
        return np.tanh(x @ w) @ v

    slopes = [
        (critic(between + step * axis) - critic(between - step * axis)) / (2 * step)
        for axis in np.eye(2)
    ]
    monte = np.linalg.norm(slopes, axis=0).mean()

    assert abs(critic_slope._in_torch(real, fake, w, v, 0.0)[0] - monte) < 1e-8
