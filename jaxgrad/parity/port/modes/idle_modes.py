"""Prove a mode of a port through which no gradient passes, such as a quantizer in eval mode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


NOTE = (
    "No gradient passes through the module in {} mode, in torch too, so the proof of this mode "
    "compares the outputs alone."
)


def loss_of_inputs(outputs: Any, *inputs: Any, **named: Any) -> Any:
    """Return a loss that has gradients with respect to the inputs, whatever the outputs are."""
    del outputs
    return sum((x * x).sum() for x in floats((inputs, named)))


def floats(tree: Any) -> Iterator[Any]:
    """Yield the floating arrays or tensors of a tree."""
    if isinstance(tree, Mapping):
        tree = list(tree.values())
    if isinstance(tree, list | tuple):
        for part in tree:
            yield from floats(part)
    elif "float" in str(getattr(tree, "dtype", "")):
        yield tree


def pair_for(is_idle: bool) -> tuple[Any, Any] | None:
    """Return the `loss=` of a proof."""
    return (loss_of_inputs, loss_of_inputs) if is_idle else None
