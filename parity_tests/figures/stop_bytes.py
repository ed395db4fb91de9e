"""The bytes that each way to stop a gradient keeps for the backward pass."""

from typing import NamedTuple

from parity_tests.figures.axes import Axes, Scale, bar, frame, key, linear
from parity_tests.figures.canvas import svg, text
from parity_tests.figures.run import measured


CASE = "checkpointing/cheapest_stop"


class Kept(NamedTuple):
    """The bytes that each framework keeps."""

    torch: int
    jax: int


def record() -> dict[str, Kept]:
    """Count the bytes that the network of the case keeps when L1 is stopped in each way."""
    sides = [measured(CASE)[name]["bytes"] for name in ("torch", "JAX")]
    return {way: Kept(*(int(side[way]) for side in sides)) for way in sides[0]}


def draw(record: dict[str, Kept]) -> str:
    """Draw two bars for each way, with their bytes above them."""
    top = max(max(kept) for kept in record.values())
    scale = linear([0, top], "bytes kept for the backward pass", 3, zero=True)
    axes = Axes(56, 60, 366, 150, Scale(0, len(record), "L1 is stopped by", ()), scale)
    parts = [
        text(14, 24, "How many bytes each stop keeps", "bold"),
        frame(axes),
    ]
    for i, (way, kept) in enumerate(record.items()):
        for left, count, look in ((0.1, kept.torch, "torch"), (0.5, kept.jax, "jax")):
            parts.append(bar(axes, i + left, i + left + 0.4, count, look))
            place = axes.at(i + left + 0.2, count)
            parts.append(text(place.x, place.y - 5, f"{count}", "middle"))
        parts.append(text(axes.at(i + 0.5, 0).x, 228, way, "middle faint mono"))
    parts.append(key(56, 276, (("box", "torch", "torch"), ("box", "jax", "JAX"))))
    return svg("The bytes that detach, no_grad and inference_mode keep", parts, 290)
