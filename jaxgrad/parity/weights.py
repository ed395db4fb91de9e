"""Which element of which torch tensor stands in which element of which JAX leaf.

The map is inferred by value: a leaf is a torch tensor with its axes permuted, split or merged, a
stack or a concatenation of several, a part of one, or the sum of two biases. Constant tensors
(ones, zeros) all look alike and are paired by name; `prove` then redraws them all.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxgrad.parity.fingerprint import apart, fingerprint


class WeightsError(ValueError):
    """The map between torch's parameters and the JAX leaves is not known."""


@dataclasses.dataclass(frozen=True)
class Piece:
    """A region of a leaf, and for each of its elements which one of a torch tensor it is."""

    leaf: int
    region: tuple[slice, ...]
    name: str
    index: np.ndarray  # of the flat tensor
    offset: float = 0.0  # the leaf holds the tensor plus this
    guessed: bool = False  # by name alone

    def take(self, tensor: np.ndarray) -> np.ndarray:
        return tensor.ravel()[self.index] + self.offset


@dataclasses.dataclass(frozen=True)
class WeightMap:
    """Every piece, with the leaves of the user's params and torch's tensors."""

    pieces: tuple[Piece, ...]
    leaves: tuple[np.ndarray, ...]
    tensors: Mapping[str, np.ndarray]
    paths: tuple[str, ...]

    def to_jax(self, tensors: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """The leaves that hold these torch tensors."""
        mapped = {piece.leaf for piece in self.pieces}
        out = [np.zeros_like(x) if i in mapped else x for i, x in enumerate(self.leaves)]
        for piece in self.pieces:
            out[piece.leaf][piece.region] += piece.take(np.asarray(tensors[piece.name]))
        return out

    def to_torch(self, grads: Sequence[np.ndarray | None]) -> dict[str, np.ndarray | None]:
        """Gradients of the leaves as gradients of the torch tensors, None where none came."""
        found: dict[str, np.ndarray | None] = dict.fromkeys(self.tensors)
        for piece in self.pieces:
            grad = grads[piece.leaf]
            if grad is None:
                continue
            total = found[piece.name]
            if total is None:
                total = np.zeros(self.tensors[piece.name].size, np.asarray(grad).dtype)
            np.add.at(total, piece.index.ravel(), np.asarray(grad)[piece.region].ravel())
            found[piece.name] = total
        return {
            name: None if g is None else g.reshape(self.tensors[name].shape)
            for name, g in found.items()
        }

    def values_of(self, leaves: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """The torch tensors that these leaves hold; a sum of two biases says nothing of either."""
        found: dict[str, np.ndarray] = {}
        for piece in self.pieces:
            beside = [p for p in self.pieces if p.leaf == piece.leaf and p.region == piece.region]
            if len(beside) > 1:
                continue
            x = np.asarray(leaves[piece.leaf])
            if piece.name not in found:
                found[piece.name] = np.array(self.tensors[piece.name], x.dtype).ravel()
            found[piece.name][piece.index.ravel()] = x[piece.region].ravel() - piece.offset
        return {name: x.reshape(self.tensors[name].shape) for name, x in found.items()}

    def leaves_of(self, name: str) -> list[int]:
        """Which leaves hold (a part of) a torch tensor."""
        return list(dict.fromkeys(p.leaf for p in self.pieces if p.name == name))

    def names_of(self, leaf: int) -> list[str]:
        return list(dict.fromkeys(p.name for p in self.pieces if p.leaf == leaf))

    def place_of(self, name: str) -> str:
        """The JAX paths of a torch tensor, for a person."""
        return ", ".join(self.paths[i] for i in self.leaves_of(name)) or "no leaf"


def infer(
    tensors: Mapping[str, np.ndarray], leaves: Sequence[np.ndarray], paths: Sequence[str]
) -> tuple[WeightMap, list[str], list[str]]:
    """Find the map by value.

    Args:
      tensors: torch's floating parameters and buffers by name; tied ones under their first name.
      leaves: The array leaves of the JAX parameters.
      paths: Their names.

    Returns:
      The map, the torch tensors that are in no leaf, and the paths of leaves that hold no tensor.
    """
    search = _Search(tensors, leaves, paths)
    floating = [i for i, x in enumerate(leaves) if np.issubdtype(np.asarray(x).dtype, np.inexact)]
    for step in (search.whole, search.chunks, search.parts, search.sums, search.lookup):
        for leaf in [i for i in floating if i not in search.done]:
            step(leaf)
    search.constants([i for i in floating if i not in search.done])
    made = WeightMap(
        tuple(search.pieces), tuple(map(np.asarray, leaves)), dict(tensors), tuple(paths)
    )
    used = {piece.name for piece in search.pieces}
    return (
        made,
        [name for name in tensors if name not in used],
        [paths[i] for i in floating if i not in search.done and leaves[i].size],
    )


class _Search:
    def __init__(
        self,
        tensors: Mapping[str, np.ndarray],
        leaves: Sequence[np.ndarray],
        paths: Sequence[str],
    ):
        self.tensors, self.leaves, self.paths = tensors, leaves, paths
        self.low = {name: _key(x) for name, x in tensors.items()}
        self.prints = {name: fingerprint(x) for name, x in self.low.items()}
        self.pieces: list[Piece] = []
        self.done: set[int] = set()
        self.varied = [n for n, x in self.low.items() if x.size and x.min() != x.max()]

    def add(self, leaf: int, *pieces: Piece) -> None:
        self.pieces += pieces
        self.done.add(leaf)

    def candidates(self, x: np.ndarray) -> list[str]:
        """The tensors with the same numbers, the likeliest names first."""
        print_ = fingerprint(x)
        return [
            name
            for name in self.varied
            if self.low[name].size == x.size and apart(self.prints[name], print_) < 1e-12
        ]

    def whole(self, leaf: int, offsets: Sequence[float] = (0.0, -1.0, 1.0)) -> None:
        x = _key(self.leaves[leaf])
        if not _varies(x):
            return
        for offset in offsets:
            y = x if not offset else _key(np.asarray(self.leaves[leaf], np.float64) - offset)
            names = self.candidates(y)
            # Copies (a target network at the start) hold the same numbers: each has its own leaf.
            names.sort(key=lambda name: (self._taken(name), -likeness(name, self.paths[leaf])))
            for name in names:
                index = layout(self.low[name], y)
                if index is not None:
                    self.add(leaf, Piece(leaf, _all(x), name, index, offset))
                    return

    def chunks(self, leaf: int) -> None:
        """A leaf that is a stack or concatenation of whole tensors along one axis."""
        x = _key(self.leaves[leaf])
        if not x.size:
            return
        sizes = sorted({t.size for t in self.low.values() if 0 < t.size < x.size}, reverse=True)
        for size, axis in itertools.product(sizes, range(x.ndim)):
            length, rest = divmod(x.shape[axis] * size, x.size)
            if rest or not length or x.shape[axis] % length:
                continue
            found: list[Piece] = []
            for start in range(0, x.shape[axis], length):
                region = (*_all(x)[:axis], slice(start, start + length), *_all(x)[axis + 1 :])
                piece = self._piece(leaf, region, x[region], {p.name for p in found})
                if piece is None:
                    break
                found.append(piece)
            else:
                self.add(leaf, *found)
                return

    def _piece(
        self, leaf: int, region: tuple[slice, ...], x: np.ndarray, taken: set[str]
    ) -> Piece | None:
        if not _varies(x):
            return None
        names = [name for name in self.candidates(x) if name not in taken]
        for name in sorted(names, key=lambda name: -likeness(name, self.paths[leaf])):
            index = layout(self.low[name], x)
            if index is not None:
                return Piece(leaf, region, name, index)
        return None

    def parts(self, leaf: int) -> None:
        """A leaf that is one of several equal parts of a tensor along one axis."""
        x = _key(self.leaves[leaf])
        if not _varies(x):
            return
        wanted = fingerprint(x)
        for name in self.varied:
            t = self.low[name]
            if t.size <= x.size or t.size % x.size:
                continue
            numbers = np.arange(t.size, dtype=np.int64).reshape(t.shape)
            for axis in range(t.ndim):
                count = t.size // x.size
                if t.shape[axis] % count:
                    continue
                pieces = np.split(t, count, axis), np.split(numbers, count, axis)
                for part, places in zip(*pieces, strict=True):
                    if apart(fingerprint(part), wanted) < 1e-12:
                        index = layout(part, x)
                        if index is not None:
                            self.add(leaf, Piece(leaf, _all(x), name, places.ravel()[index]))
                            return

    def sums(self, leaf: int) -> None:
        """A leaf that is the sum of two vectors, or of the same part of two: one bias for two."""
        x = np.asarray(self.leaves[leaf], np.float64)
        if not 1 < x.size <= 2**17 or not _varies(_key(x)):
            return
        places = np.argsort(x, axis=None)
        vectors = [n for n, t in self.tensors.items() if t.ndim == 1 and t.size % x.size == 0]
        for one, two in itertools.combinations(vectors, 2):
            a, b = self.tensors[one], self.tensors[two]
            for start in range(0, a.size if a.size == b.size else 0, x.size):
                total = np.asarray(a + b, np.float64)[start : start + x.size]
                ranks = np.argsort(total)
                if np.allclose(total[ranks], x.ravel()[places], rtol=1e-6, atol=1e-7):
                    index = np.empty(x.size, np.int64)
                    index[places] = start + ranks  # gates may stand in another order
                    index = index.reshape(x.shape)
                    self.add(leaf, *(Piece(leaf, _all(x), n, index) for n in (one, two)))
                    return

    def lookup(self, leaf: int) -> None:
        """Any arrangement at all, element by element, where values are distinct enough."""
        x = _key(self.leaves[leaf])
        if not _varies(x):
            return
        names = list(self.tensors)
        values = np.concatenate([self.low[n].ravel() for n in names])
        order = np.argsort(values, kind="stable")
        ranked = values[order]
        low = np.searchsorted(ranked, x.ravel(), "left")
        high = np.searchsorted(ranked, x.ravel(), "right")
        if np.any(low == high):
            return  # an element that torch has nowhere
        source = order[low].reshape(x.shape)
        source = _consistent(source, (high - low > 1).reshape(x.shape), values, x)
        ends = np.cumsum([self.low[n].size for n in names])
        owner = np.searchsorted(ends, source, "right")
        found = []
        for number in np.unique(owner):
            mask = owner == number
            corners = [np.flatnonzero(np.any(mask, axis=_others(mask, a))) for a in range(x.ndim)]
            region = tuple(slice(int(c[0]), int(c[-1]) + 1) for c in corners)
            if not mask[region].all():
                return  # tensors interleaved: no arrangement that a person would write
            start = int(ends[number]) - self.low[names[number]].size
            found.append(Piece(leaf, region, names[number], source[region] - start))
        self.add(leaf, *found)

    def constants(self, leaves: Sequence[int]) -> None:
        """Pair constant leaves with constant tensors by what stands beside them and by name."""
        used = {piece.name for piece in self.pieces}
        free = [n for n in self.tensors if n not in used and n not in self.varied]
        self._pair([i for i in leaves if not _varies(_key(self.leaves[i]))], free)
        for leaf in [i for i in leaves if i not in self.done]:
            self._stacked_constant(leaf, [n for n in free if not self._taken(n)])
        for leaf in [i for i in leaves if i not in self.done]:
            self._split_constant(leaf, free)

    def _taken(self, name: str) -> bool:
        return any(piece.name == name for piece in self.pieces)

    def _pair(self, leaves: Sequence[int], free: Sequence[str]) -> None:
        scored = []
        for leaf, name in itertools.product(leaves, free):
            x, t = self.leaves[leaf], self.tensors[name]
            if x.size == t.size and (not x.size or np.allclose(x.flat[0], t.flat[0], atol=1e-7)):
                scored.append((-self._score(leaf, name), self.paths[leaf], name, leaf))
        for _, _, name, leaf in sorted(scored, key=lambda s: (s[0], natural(s[1]), natural(s[2]))):
            if leaf not in self.done and not self._taken(name):
                index = np.arange(self.tensors[name].size).reshape(self.leaves[leaf].shape)
                t = self.tensors[name]
                if t.ndim == 2 and t.shape[::-1] == self.leaves[leaf].shape:
                    index = np.arange(t.size).reshape(t.shape).T
                self.add(leaf, Piece(leaf, _all(self.leaves[leaf]), name, index, guessed=True))

    def _score(self, leaf: int, name: str) -> float:
        """Shared words, and above all: what stands beside the leaf belongs to the same module."""
        parent, module = self.paths[leaf].rpartition("/")[0], name.rpartition(".")[0]
        beside = {
            piece.name.rpartition(".")[0]
            for piece in self.pieces
            if not piece.guessed and self.paths[piece.leaf].rpartition("/")[0] == parent
        }
        return likeness(name, self.paths[leaf]) + (10 if module in beside else 0)

    def _stacked_constant(self, leaf: int, free: Sequence[str]) -> None:
        x = self.leaves[leaf]
        count = x.shape[0] if x.ndim else 0
        fitting = [n for n in free if count and self.tensors[n].size * count == x.size]
        fitting = [n for n in fitting if np.allclose(self.tensors[n], x.flat[0], atol=1e-7)]
        groups: dict[str, list[str]] = {}
        for name in fitting:
            groups.setdefault(re.sub(r"\d+", "#", name), []).append(name)
        ranked = sorted(groups.items(), key=lambda g: -likeness(g[0], self.paths[leaf]))
        for _, names in ranked:
            if len(names) == count:
                ordered = sorted(names, key=natural)
                self.add(
                    leaf,
                    *(
                        Piece(
                            leaf,
                            (slice(i, i + 1), *_all(x)[1:]),
                            name,
                            np.arange(self.tensors[name].size).reshape(1, *x.shape[1:]),
                            guessed=True,
                        )
                        for i, name in enumerate(ordered)
                    ),
                )
                return

    def _split_constant(self, leaf: int, free: Sequence[str]) -> None:
        """A constant leaf that is a part of a constant tensor: the bias of one of q, k and v."""
        x = self.leaves[leaf]
        used: dict[str, int] = {}
        for piece in self.pieces:
            if piece.guessed:
                used[piece.name] = used.get(piece.name, 0) + piece.index.size
        fitting = []
        for name in free:
            t = self.tensors[name]
            left = t.size - used.get(name, 0)
            if x.size and t.size > x.size and left >= x.size and t.size % x.size == 0:
                if np.allclose(t.flat[0], x.flat[0], atol=1e-7):
                    fitting.append(name)
        if fitting:
            name = max(fitting, key=lambda n: (self._score(leaf, n), used.get(n, 0)))
            start = used.get(name, 0)
            index = np.arange(start, start + x.size).reshape(x.shape)
            self.add(leaf, Piece(leaf, _all(x), name, index, guessed=True))


def layout(tensor: np.ndarray, leaf: np.ndarray, rtol: float = 0.0) -> np.ndarray | None:
    """The index of each element of `leaf` in the flat `tensor`, or None if no layout fits."""
    if tensor.size != leaf.size:
        return None
    numbers = np.arange(tensor.size, dtype=np.int32 if tensor.size < 2**31 else np.int64)
    for shape in _shapes(tensor, leaf):
        view, places = tensor.reshape(shape), numbers.reshape(shape)
        for order in itertools.permutations(range(len(shape))):
            if (
                _squeezed(view.transpose(order).shape) != _squeezed(leaf.shape)
                and len(shape) != tensor.ndim
            ):
                continue
            for flips in _flips(order, shape, leaf):
                arranged = np.flip(view.transpose(order), flips).reshape(leaf.shape)
                if _same(arranged, leaf, rtol):
                    return np.flip(places.transpose(order), flips).reshape(leaf.shape)
    return None


def _shapes(tensor: np.ndarray, leaf: np.ndarray) -> Iterator[tuple[int, ...]]:
    """The tensor's own shape, then with an axis split as the leaf has it (heads)."""
    yield tensor.shape
    for axis, size in enumerate(tensor.shape):
        for length in {n for n in leaf.shape if 1 < n < size and size % n == 0}:
            for pair in {(length, size // length), (size // length, length)}:
                shape = (*tensor.shape[:axis], *pair, *tensor.shape[axis + 1 :])
                if len(shape) <= 6:
                    yield shape


def _flips(
    order: Sequence[int], shape: Sequence[int], leaf: np.ndarray
) -> Iterator[tuple[int, ...]]:
    """No axis turned round; then, for kernels, the spatial ones."""
    yield ()
    spatial = tuple(i for i, axis in enumerate(order) if axis >= 2)
    if spatial and len(shape) == leaf.ndim and len(shape) in (3, 4, 5):
        yield spatial


def _same(a: np.ndarray, b: np.ndarray, rtol: float) -> bool:
    if a.size > 4096:  # a few elements first
        some = np.linspace(0, a.size - 1, 64, dtype=np.int64)
        if not _close(
            a.ravel()[some] if a.flags.c_contiguous else a.flat[some], b.flat[some], rtol
        ):
            return False
    return _close(a, b, rtol)


def _close(a: np.ndarray, b: np.ndarray, rtol: float) -> bool:
    return np.allclose(a, b, rtol=rtol, atol=rtol) if rtol else np.array_equal(a, b)


def _consistent(
    source: np.ndarray, several: np.ndarray, values: np.ndarray, x: np.ndarray
) -> np.ndarray:
    """Where a value stands in several places, take the one in step with its neighbours."""
    for _ in range(8):
        if not several.any():
            break
        for axis in range(x.ndim):
            for step in (1, -1):
                near = np.roll(source, step, axis)
                known = ~np.roll(several, step, axis)
                strides = (source - near)[known & ~several]
                if not strides.size:
                    continue
                stride = np.bincount(strides - strides.min()).argmax() + strides.min()
                guess = near + stride
                inside = (guess >= 0) & (guess < values.size)
                right = several & known & inside
                right &= values[np.where(inside, guess, 0)] == x
                source = np.where(right, guess, source)
                several = several & ~right
    return source


def likeness(name: str, path: str) -> float:
    """How alike a torch name and a JAX path are: words in common, numbers counted double."""
    left, right = _words(name), _words(path)
    both = sum((2.0 if w.isdigit() else 1.0) for w in left if w in right)
    return both / (1 + 0.1 * abs(len(left) - len(right)))


_SYNONYMS = {
    "kernel": "weight",
    "scale": "weight",
    "gamma": "weight",
    "w": "weight",
    "g": "weight",
    "embedding": "weight",
    "beta": "bias",
    "offset": "bias",
    "b": "bias",
    "mean": "running_mean",
    "var": "running_var",
    "layernorm": "norm",
    "ln": "norm",
    "norm": "norm",
    "bn": "norm",
    "batchnorm": "norm",
    "attention": "attn",
    "h": "layer",
    "block": "layer",
    "blocks": "layer",
    "layers": "layer",
}


def _words(text: str) -> list[str]:
    text = text.replace("running_mean", "mean").replace("running_var", "var")
    text = re.sub(r"([a-z])([A-Z])", r"\1 \2", text)
    words: list[str] = re.findall(r"[a-z]+|\d+", text.lower())
    return [_SYNONYMS.get(w, w) for w in words if w not in ("params", "param", "value")]


def natural(text: str) -> list[Any]:
    """A key that puts layer 10 behind layer 9."""
    return [(int(w), "") if w.isdigit() else (-1, w) for w in re.split(r"(\d+)", text)]


def from_mapping(
    mapping: Mapping[str, Any],
    tensors: Mapping[str, np.ndarray],
    leaves: Sequence[np.ndarray],
    paths: Sequence[str],
) -> WeightMap:
    """A map that the user wrote: torch name -> path, or (path, axes), or (path, function)."""
    pieces = []
    for name, target in mapping.items():
        path, how = target if isinstance(target, tuple) else (target, None)
        if name not in tensors:
            raise WeightsError(f"weights= names {name!r}; the module has {sorted(tensors)}")
        if path not in paths:
            raise WeightsError(f"weights= sends {name!r} to {path!r}; params has {list(paths)}")
        leaf = list(paths).index(path)
        places = np.arange(tensors[name].size).reshape(tensors[name].shape)
        try:
            if callable(how):
                places = np.asarray(how(places))
            elif how is not None:
                places = places.transpose(how)
            index = places.reshape(leaves[leaf].shape)
        except ValueError as error:
            raise WeightsError(
                f"weights= sends {name!r} of shape {tensors[name].shape} to {path!r} of shape "
                f"{leaves[leaf].shape}, which does not fit: {error}"
            ) from None
        pieces.append(Piece(leaf, _all(leaves[leaf]), name, index))
    return WeightMap(tuple(pieces), tuple(map(np.asarray, leaves)), dict(tensors), tuple(paths))


def _key(x: Any) -> np.ndarray:
    """As float32: what most checkpoints are in, on both sides."""
    x = np.asarray(x)
    return x.astype(np.complex64 if np.iscomplexobj(x) else np.float32)


def _varies(x: np.ndarray) -> bool:
    return bool(x.size > 1 and np.any(x != x.flat[0])) or (x.size == 1 and x.flat[0] not in (0, 1))


def _all(x: np.ndarray) -> tuple[slice, ...]:
    return (slice(None),) * x.ndim


def _others(x: np.ndarray, axis: int) -> tuple[int, ...]:
    return tuple(a for a in range(x.ndim) if a != axis)


def _squeezed(shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(n for n in shape if n != 1)


Converter = Callable[[Mapping[str, Any]], Any]
