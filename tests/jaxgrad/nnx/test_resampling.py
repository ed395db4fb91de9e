"""`jaxgrad.nnx` layers that change the resolution match torch's."""

import pytest

from tests.jaxgrad.nnx._helpers import (
    check_call,
    draw,
    plain_case,
)


CASES = {
    "Upsample": plain_case("Upsample", draw(2, 3, 4), scale_factor=2),
    "Upsample/size": plain_case(
        "Upsample", draw(2, 3, 4, 5), (7, 6), mode="bilinear", align_corners=True
    ),
    "Upsample/scale": plain_case(
        "Upsample", draw(2, 3, 4, 5), scale_factor=1.7, mode="bicubic", recompute_scale_factor=True
    ),
    "UpsamplingNearest2d": plain_case("UpsamplingNearest2d", draw(1, 2, 3, 4), scale_factor=2),
    "UpsamplingBilinear2d": plain_case("UpsamplingBilinear2d", draw(1, 2, 3, 4), 5),
    "PixelShuffle": plain_case("PixelShuffle", draw(2, 8, 3, 2), 2),
    "PixelUnshuffle": plain_case("PixelUnshuffle", draw(2, 2, 4, 6), 2),
    "ChannelShuffle": plain_case("ChannelShuffle", draw(2, 6, 2, 2), 3),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CASES)
def test_resampling_layers_match_torch(name):
    """Layers that change the resolution have torch's outputs and gradients."""
    check_call(CASES[name])
