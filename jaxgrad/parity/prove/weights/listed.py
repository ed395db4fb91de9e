"""Write a weight map as a table: each part of a leaf, and the part of a torch tensor it holds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from jaxgrad.parity.prove.weights.blocks import Block, strides_of


PARTS_SHOWN = 12  # of one leaf
Shape = Sequence[int]


def table(
    leaves: Mapping[str, Shape],
    tensors: Mapping[str, Shape],
    blocks: Sequence[Block],
    added: Sequence[Block],
    computed: Mapping[str, Sequence[str]],
) -> list[str]:
    """Return the lines of a table with a row for each part of a leaf.

    Args:
        leaves: The shapes of the leaves by path.
        tensors: The shapes of the torch tensors by name.
        blocks: The parts of the leaves.
        added: Those that are added to others, where a leaf holds the sum of several tensors.
        computed: The names of the tensors that a leaf is computed from in another way.
    """
    rows = [("leaf", "shape", "part", "torch tensor", "shape", "")]
    for leaf, shape in leaves.items():
        parts = [block for block in blocks if block.leaf == leaf]
        if leaf in computed:
            names = ", ".join(computed[leaf])
            rows.append((leaf, _sizes(shape), "all", names, "", "computed by weights="))
        for block in parts[:PARTS_SHOWN]:
            tensor = tensors[block.tensor]
            taken, how = source(block, tensor)
            how = ", ".join(filter(None, (how, "added" if block in added else "")))
            name = f"{block.tensor}{taken}"
            rows.append((leaf, _sizes(shape), part(block, shape), name, _sizes(tensor), how))
        if len(parts) > PARTS_SHOWN:
            rows.append((leaf, _sizes(shape), f"{len(parts) - PARTS_SHOWN} more", "", "", ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines, above = [], ""
    for leaf, shape, *rest in rows:
        cells = ("", "", *rest) if leaf == above else (leaf, shape, *rest)
        padded = (f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True))
        lines.append("  ".join(padded).rstrip())
        above = leaf
    return lines


def part(block: Block, shape: Shape) -> str:
    """Return the part of a leaf as an index, or "all"."""
    return _index(block.region, shape) or "all"


def source(block: Block, shape: Shape) -> tuple[str, str]:
    """Return the part of a tensor that a block holds as an index, and how it is rearranged."""
    sizes = [end - first for first, end in block.region]
    numbers = [f"times {block.scale:g}"] if block.scale != 1 else []
    numbers += [f"plus {block.offset:g}"] if block.offset else []
    if not block.scale:
        return "", f"the constant {block.offset:g}"
    axes = _axes(block, sizes, shape)
    if axes is None:
        return "", ", ".join([_rearrangement(block.positions, math.prod(shape)), *numbers])
    start = np.unravel_index(block.start, shape) if shape else ()
    region = [(int(first), int(first) + 1) for first in start]
    for axis, size in zip(axes, sizes, strict=True):
        if axis is not None:
            region[axis] = (region[axis][0], region[axis][0] + size)
    order = [axis for axis in axes if axis is not None]
    how = []
    if order == [1, 0] and len(shape) == 2:
        how = ["transposed"]
    elif order != sorted(order):
        how = [f"axes in the order {', '.join(map(str, order))}"]
    return _index(region, shape), ", ".join([*how, *numbers])


def _rearrangement(positions: np.ndarray, size: int) -> str:
    """Describe positions in a flattened tensor that are not along its axes."""
    for text, order in (("reshaped", positions), ("reshaped, then transposed", positions.T)):
        if np.array_equal(order.ravel(), np.arange(size)):
            return text
    some = f"{positions.size} of {size} elements, " if positions.size < size else ""
    return f"{some}rearranged"


def _axes(block: Block, sizes: Shape, shape: Shape) -> list[int | None] | None:
    """Return the tensor's axis along each axis of a block, None for an axis of size 1.

    The result is None if an axis of the block joins or splits axes of the tensor.
    """
    if block.index is not None:
        return None
    start = np.unravel_index(block.start, shape) if shape else ()
    free = {axis for axis, size in enumerate(shape) if size > 1}
    strides = strides_of(shape)
    axes: list[int | None] = []
    for size, stride in zip(sizes, block.strides, strict=True):
        fits = [a for a in free if strides[a] == stride and start[a] + size <= shape[a]]
        if size > 1 and not fits:
            return None
        axes.append(fits[0] if size > 1 else None)
        free -= set(axes)
    return axes


def _index(region: Sequence[tuple[int, int]], shape: Shape) -> str:
    """Return a region of an array as an index such as `[0, :, 3:6]`, or "" for the whole array."""
    texts = [
        ":" if (first, end) == (0, n) else str(first) if end == first + 1 else f"{first}:{end}"
        for (first, end), n in zip(region, shape, strict=True)
    ]
    while texts and texts[-1] == ":":
        texts.pop()
    return f"[{', '.join(texts)}]" if texts else ""


def _sizes(shape: Shape) -> str:
    return "×".join(map(str, shape)) or "scalar"
