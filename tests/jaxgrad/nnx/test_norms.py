"""`jaxgrad.nnx` normalisation layers match torch's, including the running statistics."""

import jax.numpy as jnp
import pytest

from jaxgrad import nnx as layers
from tests.jaxgrad.nnx._helpers import (
    check_call_error,
    check_constructor_error,
    check_round_trip,
    check_training,
    draw,
    layer_case,
    runs,
)


SEQUENCES, IMAGES = draw(4, 3, 5), draw(3, 2, 4, 4)
CASES = {
    "LayerNorm": layer_case("LayerNorm", draw(4, 3), 3, drawn=False),
    "LayerNorm/dims": layer_case("LayerNorm", IMAGES, (4, 4), 1e-3, bias=False, drawn=False),
    "LayerNorm/plain": layer_case(
        "LayerNorm", draw(4, 3), 3, elementwise_affine=False, drawn=False
    ),
    "RMSNorm": layer_case("RMSNorm", draw(4, 3) * 1e-3, 3, drawn=False),
    "RMSNorm/eps": layer_case("RMSNorm", draw(4, 3), [3], 1e-2, False, drawn=False),
    "GroupNorm": layer_case("GroupNorm", draw(2, 6, 4), 3, 6, drawn=False),
    "GroupNorm/plain": layer_case("GroupNorm", draw(2, 6, 4), 2, 6, affine=False, drawn=False),
    "BatchNorm1d": layer_case("BatchNorm1d", draw(5, 3), 3, drawn=False),
    "BatchNorm1d/3d": layer_case("BatchNorm1d", SEQUENCES, 3, momentum=0.3, drawn=False),
    "BatchNorm1d/cumulative": layer_case("BatchNorm1d", SEQUENCES, 3, momentum=None, drawn=False),
    "BatchNorm1d/untracked": layer_case(
        "BatchNorm1d", SEQUENCES, 3, track_running_stats=False, drawn=False
    ),
    "BatchNorm2d": layer_case("BatchNorm2d", IMAGES, 2, eps=1e-3, drawn=False),
    "BatchNorm2d/plain": layer_case("BatchNorm2d", IMAGES, 2, affine=False, drawn=False),
    "BatchNorm3d": layer_case("BatchNorm3d", draw(2, 3, 2, 2, 2), 3, drawn=False),
    "InstanceNorm1d": layer_case("InstanceNorm1d", SEQUENCES, 3, drawn=False),
    "InstanceNorm1d/2d": layer_case("InstanceNorm1d", draw(3, 5), 3, affine=True, drawn=False),
    "InstanceNorm2d": layer_case(
        "InstanceNorm2d", IMAGES, 2, affine=True, track_running_stats=True, drawn=False
    ),
    "InstanceNorm2d/no momentum": layer_case(
        "InstanceNorm2d", IMAGES, 2, momentum=None, track_running_stats=True, drawn=False
    ),
    "InstanceNorm3d": layer_case("InstanceNorm3d", draw(2, 3, 2, 2, 2), 3, drawn=False),
}

CALL_ERRORS = {
    "one value": (lambda nn: nn.BatchNorm1d(3), (1, 3), "Expected more than 1 value per"),
    "dims": (lambda nn: nn.BatchNorm2d(3), (2, 3), "expected 4D input (got 2D input)"),
    "dims 1d": (
        lambda nn: nn.BatchNorm1d(3), (2, 3, 4, 5), "expected 2D or 3D input (got 4D input)"
    ),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name, jit", runs(CASES, ("LayerNorm", "BatchNorm1d")))
def test_norms_train_as_in_torch(name, jit):
    """With torch's weights, normalisation layers have torch's outputs, gradients and states."""
    check_training(CASES[name], jit)


@pytest.mark.parametrize("name", CASES)
def test_state_dicts_of_norms_round_trip(name):
    """The state dict of a normalisation layer goes from torch to JAX and back bit for bit."""
    check_round_trip(CASES[name])


@pytest.mark.parametrize("name", CALL_ERRORS)
def test_unusable_inputs_of_batch_norms_raise_as_in_torch(name):
    """A batch norm rejects an input with torch's message when its shape does not fit."""
    construct, shape, message = CALL_ERRORS[name]
    check_call_error(construct, shape, ValueError, message)


def test_channels_that_do_not_divide_into_groups_are_rejected():
    """`GroupNorm` rejects a number of channels that the number of groups does not divide."""
    check_constructor_error(
        lambda nn: nn.GroupNorm(2, 3), "num_channels (3) must be divisible by num_groups"
    )


def test_a_failed_call_leaves_the_running_statistics_unchanged():
    """A batch norm that raises has not updated its running statistics or its counter."""
    norm = layers.BatchNorm1d(3)
    with pytest.raises(ValueError, match="more than 1 value per channel"):
        norm(jnp.ones((1, 3)))
    assert norm.num_batches_tracked[...] == 0 and (norm.running_mean[...] == 0).all()
