"""Write the pieces of a weight map as blocks of evenly spaced elements, for a JSON file."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxgrad.parity.prove.weights.map import Piece, steps_of


_MOST = 512  # blocks of one piece; a piece that needs more keeps the index of each element


@dataclasses.dataclass(frozen=True)
class Block:
    """A region of a leaf that holds elements of one torch tensor.

    Element (i, j, ...) of the region holds element `start + i * strides[0] + j * strides[1] + ...`
    of the flattened tensor, times `scale`, plus `offset`.
    """

    leaf: str
    region: tuple[tuple[int, int], ...]  # first and last + 1 of each axis
    tensor: str
    start: int
    strides: tuple[int, ...]
    scale: float = 1.0
    offset: float = 0.0
    index: tuple[int, ...] | None = None  # instead of start and strides, if they are not even

    @property
    def slices(self) -> tuple[slice, ...]:
        """The region as an index of the leaf."""
        return tuple(slice(first, end) for first, end in self.region)

    @property
    def positions(self) -> np.ndarray:
        """The index of each element in the flattened tensor."""
        shape = tuple(end - first for first, end in self.region)
        if self.index is not None:
            return np.reshape(self.index, shape)
        total = np.full(shape, self.start, np.int64)
        for axis, stride in enumerate(self.strides):
            numbers = np.arange(shape[axis]) * stride
            total += numbers.reshape(-1, *(1,) * (len(shape) - axis - 1))
        return total

    def to_dict(self, leaf_shape: Sequence[int], tensor_shape: Sequence[int]) -> dict[str, Any]:
        """Return a readable form; a whole tensor with its axes permuted is written as `axes`."""
        record: dict[str, Any] = {"tensor": self.tensor}
        axes = self._axes(leaf_shape, tensor_shape)
        if axes is not None:
            record["axes"] = axes
        else:
            record["region"] = [list(ends) for ends in self.region]
            if self.index is None:
                record |= {"start": self.start, "strides": list(self.strides)}
            else:
                record["index"] = list(self.index)
        record |= {"scale": self.scale} if self.scale != 1 else {}
        return record | ({"offset": self.offset} if self.offset else {})

    @classmethod
    def from_dict(
        cls,
        leaf: str,
        record: Mapping[str, Any],
        leaf_shape: Sequence[int],
        shapes: Mapping[str, Sequence[int]],
    ) -> Block:
        """Read the result of `to_dict`."""
        name, numbers = record["tensor"], (record.get("scale", 1.0), record.get("offset", 0.0))
        if "axes" in record:
            strides = strides_of(shapes[name])
            chosen = tuple(strides[axis] for axis in record["axes"])
            return cls(leaf, tuple((0, n) for n in leaf_shape), name, 0, chosen, *numbers)
        region = tuple((first, end) for first, end in record["region"])
        if "index" in record:
            return cls(leaf, region, name, 0, (), *numbers, tuple(record["index"]))
        return cls(leaf, region, name, record["start"], tuple(record["strides"]), *numbers)

    def _axes(self, leaf_shape: Sequence[int], shape: Sequence[int]) -> list[int] | None:
        """Return the permutation if the leaf is the whole tensor with its axes permuted."""
        whole = self.region == tuple((0, n) for n in leaf_shape)
        strides = strides_of(shape)
        if not whole or self.start or self.index is not None or len(shape) != len(leaf_shape):
            return None
        axes: list[int] = []
        for n, stride in zip(leaf_shape, self.strides, strict=True):
            fits = [a for a in range(len(shape)) if shape[a] == n and a not in axes]
            fits = [a for a in fits if strides[a] == stride or n == 1]
            if not fits:
                return None
            axes.append(fits[0])
        return axes


def blocks_of(piece: Piece, path: str, shape: Sequence[int]) -> list[Block]:
    """Return the blocks of a piece, without those that hold no element."""
    if not piece.index.size:
        return []
    ends = [s.indices(n)[:2] for s, n in zip(piece.region, shape, strict=True)]
    scale = np.broadcast_to(np.asarray(piece.scale, np.float64), piece.index.shape)
    offset = np.broadcast_to(np.asarray(piece.offset, np.float64), piece.index.shape)
    blocks = []
    regions: Iterable[Region] = [tuple((0, n) for n in piece.index.shape)]
    if piece.steps is None or np.ndim(piece.scale) or np.ndim(piece.offset):
        regions = _even(piece.index, scale, offset, *regions)
    for region in regions:
        at = tuple(slice(first, end) for first, end in region)
        if not (scale[at].any() or offset[at].any()):
            continue
        moved = tuple((e[0] + r[0], e[0] + r[1]) for e, r in zip(ends, region, strict=True))
        first = tuple(r[0] for r in region)
        start = int(piece.index[first])
        numbers = float(scale[first]), float(offset[first])
        blocks.append(Block(path, moved, piece.name, start, steps_of(piece.index[at]), *numbers))
    if len(blocks) <= _MOST or np.ptp(scale) or np.ptp(offset):
        return blocks
    whole = tuple((int(first), int(end)) for first, end in ends)
    index = tuple(int(i) for i in piece.index.ravel())
    numbers = float(scale.flat[0]), float(offset.flat[0])
    return [Block(path, whole, piece.name, 0, (), *numbers, index)]


Region = tuple[tuple[int, int], ...]


def _even(
    index: np.ndarray, scale: np.ndarray, offset: np.ndarray, region: Region
) -> Iterator[Region]:
    """Split a region into parts with evenly spaced indices and equal scales and offsets."""
    at = tuple(slice(first, end) for first, end in region)
    part = index[at]
    for axis in range(part.ndim):
        cuts = _cuts(part, scale[at], offset[at], axis)
        if len(cuts) > 2:
            first = region[axis][0]
            for low, high in itertools.pairwise(cuts):
                ends = (first + low, first + high)
                yield from _even(index, scale, offset, (*region[:axis], ends, *region[axis + 1 :]))
            return
    yield region


def _cuts(index: np.ndarray, scale: np.ndarray, offset: np.ndarray, axis: int) -> list[int]:
    """Return the ends of the runs along an axis in which slabs follow each other evenly."""
    count = index.shape[axis]
    if count < 2:
        return [0, count]
    steps = np.moveaxis(np.diff(index, axis=axis), axis, 0).reshape(count - 1, -1)
    even = np.all(steps == steps[:, :1], axis=1)
    for x in (scale, offset):
        if x.strides and any(x.strides):
            even &= ~np.moveaxis(np.diff(x, axis=axis), axis, 0).reshape(count - 1, -1).any(1)
    cuts, stride = [0], None
    for i in range(count - 1):
        step = int(steps[i, 0]) if even[i] else None
        if step is None or (stride is not None and step != stride):
            cuts.append(i + 1)
            stride = None
        else:
            stride = step
    return [*cuts, count]


def strides_of(shape: Sequence[int]) -> list[int]:
    """Return the strides of a tensor in elements."""
    return [int(np.prod(shape[axis + 1 :], dtype=np.int64)) for axis in range(len(shape))]
