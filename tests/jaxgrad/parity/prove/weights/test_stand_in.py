"""A stand-in computes like a torch tensor or a numpy array while JAX traces it."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgrad.parity.prove.weights.stand_in import StandIn, kept_by_numpy, unwrapped


X = np.random.default_rng(0).standard_normal((2, 6)).astype(np.float32)


@pytest.mark.parametrize(
    ("convert", "expected"),
    [
        (lambda x: x.detach().cpu().numpy().T, X.T),
        (lambda x: np.transpose(x, (1, 0)) * 2, X.T * 2),
        (lambda x: x / np.linalg.norm(x, axis=1, keepdims=True),
         X / np.linalg.norm(X, axis=1, keepdims=True)),
        (lambda x: x.sum(dim=1, keepdim=True), X.sum(1, keepdims=True)),
        (lambda x: np.add.reduce(x, 0), X.sum(0)),
        (lambda x: np.concatenate(x.chunk(2, 1), 0), np.concatenate([X[:, :3], X[:, 3:]])),
        (lambda x: x.t().view(3, 4), X.T.reshape(3, 4)),
        (lambda x: x.unsqueeze(0).permute(2, 0, 1), X[None].transpose(2, 0, 1)),
        (lambda x: x.unsqueeze(0).transpose(0, 1), np.swapaxes(X[None], 0, 1)),
        (lambda x: x.transpose(1, 0), X.T),
        (lambda x: x.reshape(2, 3, 2).transpose(2, 0, 1), X.reshape(2, 3, 2).transpose(2, 0, 1)),
        (lambda x: x.chunk(2)[1], X[1:]),
        (lambda x: x.t().chunk(3)[2], X.T[4:]),
        (lambda x: np.asarray(x)[1], X[1]),
        (lambda x: jnp.asarray(x) + x.shape[0] + len(x), X + 4),
    ],
)  # fmt: skip
def test_a_stand_in_has_the_methods_of_tensors_and_arrays(convert, expected):
    """Methods of tensors and numpy functions give JAX values."""

    def run(x: Any) -> Any:
        with kept_by_numpy():
            return unwrapped(convert(StandIn(x)))

    np.testing.assert_allclose(jax.jit(run)(X), expected, rtol=1e-6)


def test_a_stand_in_does_not_become_an_array():
    """Outside of `kept_by_numpy` a stand-in raises instead of turning into an object array."""
    with pytest.raises(TypeError, match="a traced value has no numbers"):
        np.asarray(StandIn(jnp.ones(2)))
