"""`jaxgrad.nnx` losses with a linear layer match torch's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import nnx as layers
from tests.jaxgrad.nnx._helpers import (
    F64,
    check_constructor_error,
    check_round_trip,
    check_training,
    draw,
    layer_case,
    rngs,
)


ROWS, CLASSES = draw(6, 8), np.array([0, 3, 5, 7, 8, 2])
CASES = {
    "adaptive": layer_case(
        "AdaptiveLogSoftmaxWithLoss", [ROWS, CLASSES], 8, 9, [3, 5, 7], 2.0, True
    ),
    "adaptive/unbatched": layer_case(
        "AdaptiveLogSoftmaxWithLoss", [ROWS[0], np.array(6)], 8, 9, [3], 1.5
    ),
    "linear": layer_case(
        "LinearCrossEntropyLoss", [ROWS, CLASSES], 8, 9, bias=True, label_smoothing=0.1
    ),
    "linear/dims": layer_case(
        "LinearCrossEntropyLoss",
        [ROWS, np.stack([CLASSES, CLASSES[::-1]], 1)],
        8,
        9,
        out_features=(2,),
        reduction="sum",
        ignore_index=1,
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_losses_with_parameters_train_as_in_torch(name):
    """With torch's weights, the losses have torch's values and gradients."""
    check_training(CASES[name], jit=True)
    check_round_trip(CASES[name])


def test_log_probabilities_and_predictions_are_torchs():
    """`log_prob` and `predict` return torch's values for all classes."""
    torch.manual_seed(0)
    options = (8, 9, [3, 5, 7], 2.0)
    reference = torch.nn.AdaptiveLogSoftmaxWithLoss(*options, dtype=F64)
    layer = layers.AdaptiveLogSoftmaxWithLoss(*options, dtype=jnp.float64, rngs=rngs())
    layers.load_state_dict(layer, reference.state_dict())
    x = draw(40, 8) * 5
    wanted = reference.log_prob(torch.tensor(x)).detach(), reference.predict(torch.tensor(x))
    got = jax.jit(lambda x: (layer.log_prob(x), layer.predict(x)))(x)
    np.testing.assert_allclose(got[0], wanted[0], rtol=1e-12)
    np.testing.assert_array_equal(got[1], wanted[1])


@pytest.mark.parametrize(
    "cutoffs, message",
    [
        ([], "of length larger than 0"),
        ([3, 3], "unique, positive integers"),
        ([9], "1 and n_classes-1"),
    ],
)
def test_unusable_cutoffs_are_rejected(cutoffs, message):
    """`cutoffs` must increase, between 1 and the number of classes - 1."""
    check_constructor_error(lambda nn: nn.AdaptiveLogSoftmaxWithLoss(8, 9, cutoffs), message)


CALLS = {
    "dims": ((2, 8), (2, 1), "0D or 1D target tensor expected, multi-target not supported"),
    "batch": ((2, 8), (3,), "should have the same size in the batch dimension"),
    "input": ((2, 8, 1), (2,), "1D target tensor expects 2D input tensors, but found inputs"),
    "scalar": ((2, 8), (), "0D target tensor expects 1D input tensors, but found inputs"),
}


@pytest.mark.parametrize("name", CALLS)
def test_inputs_and_targets_that_do_not_fit_raise_as_in_torch(name):
    """The dims of input and target are checked with torch's messages."""
    shape, target, message = CALLS[name]
    with pytest.raises(RuntimeError, match=message):
        torch.nn.AdaptiveLogSoftmaxWithLoss(8, 9, [3])(
            torch.ones(shape), torch.zeros(target, dtype=torch.long)
        )
    with pytest.raises(RuntimeError, match=message):
        layers.AdaptiveLogSoftmaxWithLoss(8, 9, [3], rngs=rngs())(
            jnp.ones(shape), jnp.zeros(target, int)
        )


def test_a_weight_of_another_size_is_rejected():
    """`LinearCrossEntropyLoss` checks `weight` and `label_smoothing` with torch's messages."""
    with pytest.raises(RuntimeError, match=r"expected weight shape to be \(9,\), got \(2,\)"):
        layers.LinearCrossEntropyLoss(8, 9, weight=jnp.ones(2), rngs=rngs())
    with pytest.raises(RuntimeError, match=r"label_smoothing to be in range \[0, 1\], got 2"):
        layers.LinearCrossEntropyLoss(8, 9, label_smoothing=2, rngs=rngs())
