"""What a backward graph is, whoever recorded it: operations, the ways back, and the leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple


# What an operation is to this loss. JAX has no tape: there an operation is reached or absent.
REACHED = "on the path of the loss"
RECORDED = "recorded, but not reached"
ABSENT = "never recorded"


class Saved(NamedTuple):
    """A value that the backward pass keeps of the forward pass."""

    what: str  # a leaf's name, "constant", or the operation that made it
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    extra: bool  # kept for the backward pass alone: no leaf, no constant

    def __str__(self) -> str:
        shape = ",".join(map(str, self.shape))
        return f"{self.what} {self.dtype}[{shape}]"


class Edge(NamedTuple):
    """The way back from an operation to what made one of its inputs."""

    to: int | str  # an operation, by its place in the graph, or a leaf, by its name
    flows: bool = True
    cut: str = ""  # what keeps the gradient from flowing: detach, no_grad, stop_gradient


class Op(NamedTuple):
    """One operation of the forward pass, and its step of the backward pass."""

    name: str  # torch: AddmmBackward0; JAX: the primitive, or what a folded box is
    kind: str  # the same for the same operation of another setting
    scope: tuple[str, ...]  # the modules or named scopes around it
    edges: tuple[Edge, ...]
    state: str = REACHED
    folded: str = ""  # what a box that holds a program of its own says: relu, scan ×3
    drawn: bool = True  # JAX: an addition hands its cotangent on and has no equation in the VJP
    steps: tuple[str, ...] = ()  # JAX: the primitives of the VJP that belong to it
    saved: tuple[Saved, ...] = ()


class Leaf(NamedTuple):
    """A parameter, and what lands on it."""

    name: str
    grad: float | None = None  # the gradient's norm; None is torch's None
    slot: bool = True  # False: it is no argument that is differentiated
    known: bool = True  # False: the program was given shapes alone
    note: str = ""

    @property
    def kind(self) -> str:
        """What lands, in a word: value, zero, none, no slot."""
        if not self.slot:
            return "no slot"
        if self.grad is None and self.known:
            return "none"
        return "zero" if self.grad == 0 else "value"


class Failure(NamedTuple):
    """An exception, at the operation where it rose; None: at the call of `backward`."""

    op: int | None
    text: str


class Graph(NamedTuple):
    """The backward graph of one loss.

    In a notebook it shows itself; `jaxgrad.graph.side_by_side` draws several on one layout.
    """

    framework: str  # "torch" or "JAX"
    version: str
    ops: tuple[Op, ...]
    leaves: tuple[Leaf, ...]
    failure: Failure | None = None

    def _repr_svg_(self) -> str:
        from jaxgrad.graph import side_by_side

        return side_by_side({"": self})

    def leaf(self, name: str) -> Leaf:
        """A parameter by its name; one that is not there has no slot in JAX, None in torch."""
        absent = Leaf(name, slot=self.framework == "torch")
        return next((leaf for leaf in self.leaves if leaf.name == name), absent)

    def with_leaves(
        self, grads: Mapping[str, float | None], notes: Mapping[str, str] | None = None
    ) -> Graph:
        """The same graph with other norms, and a remark, on the leaves that are named."""
        said = notes or {}
        leaves = [
            leaf._replace(grad=grads.get(leaf.name, leaf.grad), note=said.get(leaf.name, leaf.note))
            for leaf in self.leaves
        ]
        return self._replace(leaves=tuple(leaves))

    def renamed(self, names: Mapping[str, str]) -> Graph:
        """The same graph with other names of leaves, and of the modules that they are in."""
        modules = {_module(old): _module(new) for old, new in names.items() if _module(old)}
        ops = [
            op._replace(
                scope=modules.get(op.scope, op.scope),
                edges=tuple(
                    e._replace(to=names.get(e.to, e.to)) if isinstance(e.to, str) else e
                    for e in op.edges
                ),
            )
            for op in self.ops
        ]
        leaves = [leaf._replace(name=names.get(leaf.name, leaf.name)) for leaf in self.leaves]
        return self._replace(ops=tuple(ops), leaves=tuple(leaves))


def _module(leaf: str) -> tuple[str, ...]:
    return tuple(leaf.split(".")[:-1])


def distinct(items: Iterable[Any]) -> list[Any]:
    """Each once, in the order of their first coming."""
    return list(dict.fromkeys(items))
