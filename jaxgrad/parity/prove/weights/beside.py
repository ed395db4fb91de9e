"""Match biases by the weight beside them, where their values do not identify them.

A kernel holds certain rows of a torch weight, and the bias beside it the same elements of the bias:
the gates of a recurrent layer may be reordered or split, and all biases may be zero.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from jaxgrad.parity.prove.weights.by_value import ParamLeaf
from jaxgrad.parity.prove.weights.map import Piece, everything


def beside(
    tensors: Mapping[str, np.ndarray], leaf: ParamLeaf, known: Sequence[Piece], paths: Sequence[str]
) -> list[Piece]:
    """Match a leaf with the bias of a weight that another leaf beside it holds.

    Elements may differ from the bias by 1: haiku adds 1 to the forget gate of an LSTM.
    """
    x = np.asarray(leaf.value)
    near = _near(leaf.path, known, paths)
    order = list(tensors)
    near.sort(key=lambda piece: order.index(piece.name))
    for attempt, piece in itertools.product(("sum", "offset", "alone"), near):
        name = _bias_of(piece.name)
        rows = _rows(piece, tensors, name, x)
        if rows is None or (_is_constant(x) and _held(known, name, rows)):
            continue
        twin = _twin(name)
        recurrent = twin in tensors and tensors[twin].size == tensors[name].size
        summed = recurrent and attempt != "alone" and np.any(tensors[twin][rows])
        names = (name, twin) if summed else (name,)
        rest = x - sum(tensors[n][rows] for n in names)
        offset = np.rint(rest)
        largest = 1 if recurrent and attempt == "offset" else 0
        if np.allclose(rest, offset, rtol=0, atol=1e-6) and np.all(np.abs(offset) <= largest):
            offsets = [offset if offset.any() else 0.0, 0.0]
            return [
                Piece(leaf.number, everything(x), n, rows, constant, guessed=True)
                for n, constant in zip(names, offsets, strict=False)
            ]
    return []


def _is_constant(x: np.ndarray) -> bool:
    return bool(np.all(x == x.flat[0]))


def _held(known: Sequence[Piece], name: str, rows: np.ndarray) -> bool:
    """Whether another leaf already holds some of these elements of a tensor."""
    return any(piece.name == name and np.isin(piece.used, rows).any() for piece in known)


def _near(path: str, known: Sequence[Piece], paths: Sequence[str]) -> list[Piece]:
    """Return the pieces of the weight beside a bias, or none if it is not clear which one it is.

    It has the name of the bias, as `wq` or `q_kernel` for `bq` or `q_bias`, or shares its subtree.
    """
    named = [p for p in known if _stem(paths[p.leaf]) == _stem(path)]
    parent = path.rpartition("/")[0]
    near = named or [p for p in known if paths[p.leaf].rpartition("/")[0] == parent]
    modules = {piece.name.rpartition(".")[0] for piece in near}
    holders = {(piece.name, piece.leaf) for piece in near}
    is_clear = len(modules) < 2 and len(holders) == len({name for name, _ in holders})
    return near if is_clear else []


def _stem(path: str) -> str:
    """Return a path without the words and letters that distinguish a weight from its bias."""
    return re.sub(r"kernels?|weights?|bias(es)?|\b[wWbB](?=_|[a-z]*\d*\b)|_[wWbB]\b", "", path)


def _bias_of(weight: str) -> str:
    """Return the name of the bias beside a weight: `in_proj_bias` for `in_proj_weight`."""
    module, dot, name = weight.rpartition(".")
    return module + dot + name.replace("weight", "bias") if "weight" in name else ""


def _twin(bias: str) -> str:
    """Return the other bias of a recurrent layer: `bias_hh_l0` for `bias_ih_l0`."""
    twin = re.sub("bias_(ih|hh)", lambda m: {"ih": "bias_hh", "hh": "bias_ih"}[m[1]], bias)
    return "" if twin == bias else twin


def _rows(
    piece: Piece, tensors: Mapping[str, np.ndarray], bias: str, x: np.ndarray
) -> np.ndarray | None:
    """Return the weight's row for each element of a bias, if the kernel has one for each."""
    count = tensors[bias].size if bias in tensors else 0
    size = tensors[piece.name].size
    if not x.size or not count or size % count or np.ndim(piece.scale):
        return None
    rows = piece.index // (size // count)
    fixed = tuple(
        axis
        for axis in range(rows.ndim)
        if np.all(rows == np.take(rows, [0], axis)) and (rows.shape[axis] > 1 or rows.size > x.size)
    )
    rows = rows[tuple(0 if axis in fixed else slice(None) for axis in range(rows.ndim))]
    return rows.reshape(x.shape) if rows.size == x.size else None


def summed_zeros(tensors: Mapping[str, np.ndarray], known: Sequence[Piece]) -> Iterator[Piece]:
    """Add the zero biases of recurrent layers that no leaf holds to the other bias of the layer.

    torch's recurrent layers have two biases, whose sum is the only bias of most JAX layers. The
    sum with zeros has the values of the other bias.
    """
    for name, x in tensors.items():
        twin = _twin(name)
        if x.ndim != 1 or twin not in tensors:
            continue
        unused = x == 0
        for piece in known:
            if piece.name == name:
                unused[piece.used] = False
        for piece in known:
            if piece.name == twin and (held := unused[piece.index]).any():
                scale = 1.0 if held.all() else held.astype(np.float64)
                yield Piece(piece.leaf, piece.region, name, piece.index, 0.0, True, scale)
