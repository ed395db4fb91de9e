"""`jaxgrad.nnx` convolutions and transposed convolutions match torch's."""

import pytest

from tests.jaxgrad.nnx._helpers import (
    check_constructor_error,
    check_initial_distribution,
    check_round_trip,
    check_training,
    draw,
    layer_case,
    runs,
)


SEQUENCES, IMAGES = draw(4, 3, 5), draw(3, 2, 4, 4)
CASES = {
    "Conv1d": layer_case("Conv1d", SEQUENCES, 3, 4, 3, padding=1),
    "Conv1d/reflect": layer_case("Conv1d", SEQUENCES, 3, 4, 3, padding=2, padding_mode="reflect"),
    # A kernel of (3, 2) is avoided: its grouped float64 gradient aborts XLA (jaxlib 0.10, CPU).
    "Conv2d": layer_case("Conv2d", IMAGES, 2, 4, 3, 2, 1, groups=2),
    "Conv2d/same": layer_case(
        "Conv2d", IMAGES, 2, 3, (2, 3), padding="same", dilation=2, bias=False
    ),
    "Conv2d/circular": layer_case(
        "Conv2d", IMAGES, 2, 3, (2, 3), padding="same", padding_mode="circular"
    ),
    "Conv2d/replicate": layer_case(
        "Conv2d", IMAGES, 2, 3, 3, padding=(1, 2), padding_mode="replicate"
    ),
    "Conv3d": layer_case("Conv3d", draw(1, 2, 3, 3, 3), 2, 2, 2),
    "ConvTranspose1d": layer_case("ConvTranspose1d", SEQUENCES, 3, 4, 3, 2, 1, 1),
    "ConvTranspose2d": layer_case("ConvTranspose2d", IMAGES, 2, 4, (3, 2), 2, groups=2),
    "ConvTranspose2d/size": layer_case(
        "ConvTranspose2d", IMAGES, 2, 3, 3, 2, call={"output_size": (10, 9)}
    ),
    "ConvTranspose3d": layer_case("ConvTranspose3d", draw(1, 2, 2, 2, 2), 2, 2, 2, dilation=2),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name, jit", runs(CASES))
def test_convolutions_train_as_in_torch(name, jit):
    """With torch's weights, convolutions have torch's outputs, gradients and states."""
    check_training(CASES[name], jit)


@pytest.mark.parametrize("name", CASES)
def test_state_dicts_of_convolutions_round_trip(name):
    """The state dict of a convolution goes from torch to JAX and back bit for bit."""
    check_round_trip(CASES[name])


@pytest.mark.parametrize("name", ["Conv2d", "ConvTranspose2d"])
def test_fresh_convolutions_are_distributed_as_in_torch(name):
    """Fresh kernels and biases match torch's in mean, spread and bounds (P117)."""
    check_initial_distribution(name, 40, 60, 3)


@pytest.mark.parametrize(
    "construct, message",
    [
        (lambda nn: nn.Conv1d(3, 4, 2, groups=2), "in_channels must be divisible by groups"),
        (lambda nn: nn.Conv1d(3, 4, 2, padding_mode="same"), "padding_mode must be one"),
        (lambda nn: nn.Conv1d(3, 4, 2, padding="SAME"), "Invalid padding string 'SAME'"),
        (
            lambda nn: nn.Conv1d(3, 4, 2, stride=2, padding="same"),
            "padding='same' is not supported",
        ),
    ],
    ids=["groups", "padding mode", "flax's padding", "stride"],
)
def test_unusable_arguments_of_convolutions_are_rejected(construct, message):
    """Unknown paddings, "same" with a stride, and channels that do not divide raise an error."""
    check_constructor_error(construct, message)
