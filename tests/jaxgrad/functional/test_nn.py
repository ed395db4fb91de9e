"""The operators of `jaxgrad/functional/nn` agree with torch, even for masked infinite scores."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import functional
from jaxgrad.parity.interop import to_torch
from parity_tests.operators._harness.suite import agreement_test


test_operator = agreement_test("nn")


def test_a_boolean_attention_mask_is_added_to_the_scores():
    """As in torch, masking an infinite attention score gives NaN instead of excluding the score."""
    q, k = np.ones((1, 2)), np.array([[np.inf, 1.0], [1.0, 2.0], [0.0, 1.0]])
    mask = np.array([[False, True, True]])

    query, key, allowed = to_torch([q, k, mask])
    expected = torch.nn.functional.scaled_dot_product_attention(query, key, key, allowed)
    query, key, allowed = jnp.asarray(q), jnp.asarray(k), jnp.asarray(mask)
    actual = functional.scaled_dot_product_attention(query, key, key, allowed)

    assert expected.isnan().all()
    np.testing.assert_array_equal(actual, expected)


W, SEQUENCE = jnp.full((1, 1), 0.5), jnp.arange(8.0)[:, None]
ONE_LAYER = (False, 1, 0.0, False, False)


def test_a_packed_sequence_has_the_gradients_of_its_sequences():
    """Each sequence of a packed batch is independent of the others, in both directions."""

    def packed(w, data):
        options = (False, 1, 0.0, False, True)
        out, _ = functional.rnn_tanh(data, (3, 2, 2, 1), jnp.ones((2, 3, 1)), [w] * 4, *options)
        return jnp.sum(out**2)

    def alone(w, data):
        rows = ([0, 3, 5, 7], [1, 4, 6], [2])  # the steps of each sequence
        runs = []
        for r in rows:
            x, hx = data[np.array(r)][:, None], jnp.ones((2, 1, 1))
            runs.append(functional.rnn_tanh(x, hx, [w] * 4, False, 1, 0.0, False, True, False)[0])
        return sum(jnp.sum(out**2) for out in runs)

    grads = [jax.jit(jax.grad(f, (0, 1)))(W, SEQUENCE) for f in (packed, alone)]
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-5), *grads)


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ((2, 3, 3), "must be positive, must not increase and must add up to the 8 rows of data"),
        ((3, 3, 1), r"but it is \[3, 3, 1\]"),
        ((4, 4, 0), "must be positive"),
    ],
)
def test_sizes_of_a_packed_batch_that_do_not_fit_are_refused(sizes, words):
    """The message names the number of rows and the sizes."""
    with pytest.raises(RuntimeError, match=words):
        functional.gru(SEQUENCE, sizes, jnp.ones((1, 3, 1)), [jnp.ones((3, 1))] * 2, *ONE_LAYER)


def test_sizes_of_a_packed_batch_are_static():
    """A traced array of sizes is refused, because shapes depend on it."""

    def run(sizes):
        return functional.rnn_relu(SEQUENCE, sizes, jnp.ones((1, 3, 1)), [W, W], *ONE_LAYER)

    with pytest.raises(RuntimeError, match="pass a tuple or a numpy array"):
        jax.jit(run)(jnp.array([3, 2, 2, 1]))


def test_recurrent_layers_say_what_is_missing():
    """A missing key and an input without a batch have their own messages."""
    two = (False, 2, 0.5, True, False, False)
    with pytest.raises(ValueError, match="rnn_tanh: dropout draws masks; pass key="):
        functional.rnn_tanh(jnp.ones((3, 1, 1)), jnp.ones((2, 1, 1)), [W] * 4, *two)
    with pytest.raises(RuntimeError, match=r"input must be \(L, N, in\), got shape \[8, 1\]"):
        functional.rnn_tanh(SEQUENCE, jnp.ones((1, 1, 1)), [W] * 2, *ONE_LAYER, False)
