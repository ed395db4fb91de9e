"""Prove a mode of a port through which no gradient passes, such as a quantizer in eval mode."""

from __future__ import annotations

from typing import Any

from jaxgrad.parity.interop import map_leaves


NOTE = (
    "No gradient passes through the module in {} mode, in torch too, so the proof of this mode "
    "compares the outputs alone."
)


def loss_of_inputs(outputs: Any, *inputs: Any, **named: Any) -> Any:
    """Return a loss that has gradients with respect to the inputs, whatever the outputs are."""
    del outputs
    return sum((x * x).sum() for x in floats((inputs, named)))


def floats(tree: Any) -> list[Any]:
    """Return the floating arrays or tensors of a tree."""
    leaves: list[Any] = []
    map_leaves(leaves.append, tree)
    return [x for x in leaves if "float" in str(getattr(x, "dtype", ""))]


def pair_for(is_idle: bool) -> tuple[Any, Any] | None:
    """Return the `loss=` of a proof."""
    return (loss_of_inputs, loss_of_inputs) if is_idle else None
