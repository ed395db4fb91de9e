"""How the port's inputs are made of torch's, where one framework has its channels last."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core import paths as _paths
from jaxgrad.parity.prove.users import ProofError


CHANNELS = ((1, -1), (0, -1), (-1, 1), (-1, 0))  # where the channels are, and where they go


class Move(NamedTuple):
    """An input of the port that is one of torch's, with its axes permuted and then reshaped."""

    source: int  # among the leaves of torch's inputs
    path: str  # of torch's input
    axes: tuple[int, ...]
    permuted: tuple[int, ...]  # the shape of torch's input with its axes permuted
    shape: tuple[int, ...]
    dtype: np.dtype

    def apply(self, x: Any) -> Any:
        """Move an input of torch, which may have another batch size."""
        y = jnp.transpose(x, self.axes)
        if len(self.shape) != len(self.permuted):
            has_batch = self.shape[:1] == self.permuted[:1] != ()
            y = jnp.reshape(y, (len(y), *self.shape[1:]) if has_batch else self.shape)
        return y if _kind(y.dtype) == _kind(self.dtype) else y.astype(self.dtype)

    @property
    def changes(self) -> bool:
        """Whether the port's input differs from torch's."""
        return self.axes != tuple(range(len(self.axes))) or self.permuted != self.shape

    def described(self) -> str:
        """Say how the axes are moved."""
        text = "with its axes permuted by " + str(self.axes)
        if self.axes == tuple(range(len(self.axes))):
            return f"in the shape {self.shape}"
        return text if self.permuted == self.shape else f"{text}, in the shape {self.shape}"


@dataclasses.dataclass(frozen=True)
class Layout:
    """The inputs of the port as a function of torch's, and the order of the axes of its outputs."""

    treedef: Any = None  # of the port's inputs; None if they are torch's
    leaves: Sequence[Any] = ()  # of the port's inputs: a `Move`, or a value that does not change
    constant: tuple[str, ...] = ()  # the port's inputs that do not change
    unused: tuple[str, ...] = ()  # torch's inputs that no input of the port is made of
    fixed: tuple[str, ...] = ()  # torch's inputs that are not redrawn
    axes: Mapping[str, tuple[int, ...]] = dataclasses.field(default_factory=dict)  # of outputs
    order: tuple[str, ...] = ()  # of the outputs in torch; empty if it is the port's
    numbers: bool = True  # whether Python numbers that the port returns are outputs

    def inputs(self, torch_inputs: Any) -> Any:
        """Return the inputs of the port for these inputs of torch."""
        if self.treedef is None:
            return torch_inputs
        given = jax.tree.leaves(torch_inputs)
        moved = [x.apply(given[x.source]) if isinstance(x, Move) else x for x in self.leaves]
        return jax.tree.unflatten(self.treedef, moved)

    def output(self, path: str, x: Any) -> Any:
        """Return an output of the port with torch's order of axes."""
        return jnp.transpose(x, self.axes[path]) if path in self.axes else x

    def ordered(self, outputs: Sequence[tuple[str, Any]]) -> list[tuple[str, Any]]:
        """Return named outputs of the port in torch's order."""
        return sorted(outputs, key=lambda pair: self.order.index(pair[0]) if self.order else 0)

    @property
    def moved(self) -> list[Move]:
        """The inputs whose axes differ from torch's."""
        return [x for x in self.leaves if isinstance(x, Move) and x.changes]

    def notes(self, why: str = "", called: str = "the port") -> Iterator[str]:
        """Say how the port's inputs and outputs differ from torch's, and `why` they were moved."""
        if self.moved:
            texts = [f"input {move.path} {move.described()}" for move in self.moved]
            yield f"{called} is given torch's {'; '.join(texts)}{why}"
        for path, axes in self.axes.items():
            yield f"{called}'s output {path or 0} is compared with its axes permuted by {axes}"
        if not self.numbers:
            yield f"{called} also returns Python numbers, for which torch has no tensor"
        if self.constant:
            yield (
                f"{called}'s input {', '.join(self.constant)} is not an input of torch with "
                "permuted axes, so all inputs keep their given values in the second draw"
            )
        if self.unused:
            yield (
                f"torch's input {', '.join(self.unused)} keeps its given values, and its gradient "
                f"is not compared: no input of {called} has its values"
            )


SAME = Layout()


def related(torch_inputs: Any, jax_inputs: Any) -> Layout:
    """Find out by their values how the inputs of the port are made of torch's.

    Raises:
        ProofError: Values repeat, so an input can be moved to the port's in several ways.
    """
    torch_paths, torch_leaves = _flat(torch_inputs)
    jax_paths, jax_leaves = _flat(jax_inputs)
    leaves: list[Any] = []
    used: set[int] = set()
    for k, (path, x) in enumerate(zip(jax_paths, jax_leaves, strict=True)):
        order = sorted(
            (i for i, t in enumerate(torch_leaves) if _is_like(t, x)),
            key=lambda i: (i in used, torch_paths[i] != path, i != k),
        )
        found = (_moves(i, torch_paths[i], torch_leaves[i], x) for i in order)
        moves = next(filter(None, found), [])
        if len(moves) > 1:
            move = moves[0]
            raise ProofError(
                f"inputs=: the port's input {path} of shape {x.shape} may be torch's input "
                f"{move.path} of shape {torch_leaves[move.source].shape} with its axes "
                f"permuted by {move.axes} or by {moves[1].axes}: give values that do not repeat"
            )
        leaves += moves or [x]
        used |= {move.source for move in moves}
    pairs = zip(jax_paths, leaves, strict=True)
    constant = tuple(path for path, x in pairs if isinstance(x, np.ndarray))
    arrays = [i for i, x in enumerate(torch_leaves) if isinstance(x, np.ndarray)]
    unused = tuple(torch_paths[i] for i in arrays if i not in used)
    fixed = tuple(torch_paths[i] for i in arrays) if constant else unused
    return Layout(jax.tree.structure(jax_inputs), leaves, constant, unused, fixed)


def channels_moved(torch_inputs: Any) -> Iterator[Layout]:
    """Yield layouts of inputs whose channels are last where torch's are first, and vice versa."""
    paths, leaves = _flat(torch_inputs)
    structure = jax.tree.structure(torch_inputs)

    def moved(i: int, x: Any, ranks: Sequence[int], start: int, end: int) -> Any:
        if not isinstance(x, np.ndarray):
            return x
        is_image = x.ndim in ranks and x.dtype.kind in "fc"
        axes = _moved_axis(x.ndim, start, end) if is_image else tuple(range(x.ndim))
        shape = x.transpose(axes).shape
        return Move(i, paths[i], axes, shape, shape, x.dtype)

    for ranks, ends in itertools.product(((4, 5), (3,), (3, 4, 5)), CHANNELS):
        layout = Layout(structure, [moved(i, x, ranks, *ends) for i, x in enumerate(leaves)])
        if layout.moved:
            yield layout


def channel_orders(shape: Sequence[int], wanted: Sequence[int]) -> list[tuple[int, ...]]:
    """Return the orders of axes that move the channels of an output and give it this shape."""
    if len(shape) != len(wanted) or len(shape) < 3:
        return []
    orders = dict.fromkeys(_moved_axis(len(shape), end, start) for start, end in CHANNELS)
    return [axes for axes in orders if tuple(shape[a] for a in axes) == tuple(wanted)]


def _moved_axis(count: int, start: int, end: int) -> tuple[int, ...]:
    order = list(range(count))
    axis = order.pop(start)
    order.insert(end % count, axis)
    return tuple(order)


def _flat(tree: Any) -> tuple[list[str], list[Any]]:
    """Return the paths and the values of all leaves."""
    leaves = _paths.named(tree)
    return [path for path, _ in leaves], [x for _, x in leaves]


def _is_like(t: Any, x: Any) -> bool:
    """Whether two inputs are arrays of one size, of numbers that can be compared."""
    if not isinstance(t, np.ndarray) or not isinstance(x, np.ndarray) or t.size != x.size:
        return False
    return _kind(t.dtype) == _kind(x.dtype) or bool(np.all((t == 0) | (t == 1)))


def _moves(source: int, path: str, t: np.ndarray, x: np.ndarray) -> list[Move]:
    """Return the different ways to move an input of torch to an input of the port."""
    identity = tuple(range(t.ndim))
    if t.shape == x.shape and _equal(t, x):
        return [Move(source, path, identity, t.shape, x.shape, x.dtype)]
    numbers = np.arange(t.size).reshape(t.shape)
    moves = {}
    for axes in itertools.permutations(identity) if t.ndim < 6 else [identity]:
        y = t.transpose(axes)
        if (y.ndim != x.ndim or y.shape == x.shape) and _equal(y.reshape(x.shape), x):
            move = Move(source, path, axes, y.shape, x.shape, x.dtype)
            moves.setdefault(numbers.transpose(axes).tobytes(), move)
    return list(moves.values())


def _equal(t: np.ndarray, x: np.ndarray) -> bool:
    """Whether values agree in float32, in which most inputs are given."""
    if "f" in (t.dtype.kind, x.dtype.kind):
        t, x = t.astype(np.float32), x.astype(np.float32)
    return np.array_equal(t, x)


def _kind(dtype: Any) -> str:
    """Return whether a dtype is of floats, complex numbers, bools or integers."""
    return "i" if np.dtype(dtype).kind == "u" else np.dtype(dtype).kind
