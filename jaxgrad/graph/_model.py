"""The data model of a backward graph: operations, the edges between them, and the leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple


# How an operation relates to the loss. JAX has no tape, so there it is reached or absent.
REACHED = "on the path of the loss"
RECORDED = "recorded, but not reached"
ABSENT = "never recorded"
SUM = "add_any"  # JAX's sum of the cotangents of a value that is used twice


class Saved(NamedTuple):
    """A value that the forward pass saves for the backward pass."""

    what: str  # a leaf's name, "constant", or the name of the operation that produced it
    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    extra: bool  # saved only for the backward pass: neither a leaf nor a constant

    def __str__(self) -> str:
        shape = ",".join(map(str, self.shape))
        return f"{self.what} {self.dtype}[{shape}]"


class Edge(NamedTuple):
    """An edge from an operation back to the producer of one of its inputs."""

    to: int | str  # an operation's index in the graph, or a leaf's name
    flows: bool = True
    cut: str = ""  # what stops the gradient: detach, no_grad, stop_gradient


class Op(NamedTuple):
    """One operation of the forward pass, and its step of the backward pass."""

    name: str  # AddmmBackward0 in torch; in JAX the primitive, or the label of a folded box
    kind: str  # equal for the same operation under another setting
    scope: tuple[str, ...]  # the modules or named scopes around it
    edges: tuple[Edge, ...]
    state: str = REACHED
    folded: str = ""  # the label of an operation that holds a whole program: relu, scan ×3
    drawn: bool = True  # False for a JAX addition: it has no equation in the VJP
    of: str = ""  # for an equation of JAX's VJP: the operation that it belongs to
    steps: tuple[str, ...] = ()  # JAX: the primitives of the VJP that belong to it
    saved: tuple[Saved, ...] = ()


class Equation(NamedTuple):
    """One equation of JAX's VJP, or all equations of a folded operation; a box of the picture."""

    op: int  # the index of the operation that it belongs to
    names: tuple[str, ...]  # its primitive, or those of the folded operation
    kind: str  # equal for the same equation under another setting
    edges: tuple[Edge, ...]  # to the equations, by index, and the leaves that receive its result
    state: str = REACHED
    reads: tuple[Saved, ...] = ()
    rearranges: bool = False  # it only changes the layout or dtype of a gradient
    leads_to: str = ""  # the parameter whose gradient it only rearranges or sums


class Leaf(NamedTuple):
    """A parameter and its gradient."""

    name: str
    grad: float | None = None  # the gradient's norm; None where torch has None
    slot: bool = True  # False: it is not a differentiated argument
    known: bool = True  # False: only the shapes of the arguments are known
    note: str = ""
    element: str = ""  # one element, "[0, 1] −2.5": shown where norms would not differ

    @property
    def kind(self) -> str:
        """The gradient in one word: value, zero, none, or no slot."""
        if not self.slot:
            return "no slot"
        if self.grad is None and self.known:
            return "none"
        return "zero" if self.grad == 0 else "value"


class Failure(NamedTuple):
    """An exception and the operation that raised it, or None if the `backward` call itself did."""

    op: int | None
    text: str


class Graph(NamedTuple):
    """The backward graph of one loss.

    Notebooks display it as a picture; `jaxgrad.graph.side_by_side` draws several on one layout.
    """

    framework: str  # "torch" or "JAX"
    version: str
    ops: tuple[Op, ...]
    leaves: tuple[Leaf, ...]
    failure: Failure | None = None
    equations: tuple[Equation, ...] = ()  # of JAX's VJP, last one first

    def _repr_svg_(self) -> str:
        return renderers["svg"](self)

    def leaf(self, name: str) -> Leaf:
        """Return the leaf with this name; if it is missing, a leaf without a gradient."""
        absent = Leaf(name, slot=self.framework == "torch")
        return next((leaf for leaf in self.leaves if leaf.name == name), absent)

    def with_leaves(
        self, grads: Mapping[str, float | None], notes: Mapping[str, str] | None = None
    ) -> Graph:
        """Return the graph with the given gradient norms and notes on the named leaves."""
        notes = notes or {}
        leaves = [
            leaf._replace(
                grad=grads.get(leaf.name, leaf.grad), note=notes.get(leaf.name, leaf.note)
            )
            for leaf in self.leaves
        ]
        return self._replace(leaves=tuple(leaves))

    def renamed(self, names: Mapping[str, str]) -> Graph:
        """Return the graph with leaves, and the modules that hold them, renamed."""
        modules = {_module(old): _module(new) for old, new in names.items() if _module(old)}

        def ends(edges: tuple[Edge, ...]) -> tuple[Edge, ...]:
            return tuple(
                e._replace(to=names.get(e.to, e.to)) if isinstance(e.to, str) else e for e in edges
            )

        ops = [
            op._replace(scope=modules.get(op.scope, op.scope), edges=ends(op.edges))
            for op in self.ops
        ]
        leaves = [leaf._replace(name=names.get(leaf.name, leaf.name)) for leaf in self.leaves]
        equations = [each._replace(edges=ends(each.edges)) for each in self.equations]
        return self._replace(ops=tuple(ops), leaves=tuple(leaves), equations=tuple(equations))


# How notebooks display a graph. `_svg.py` registers itself here, because it imports this file.
renderers: dict[str, Callable[[Graph], str]] = {}


def _module(leaf: str) -> tuple[str, ...]:
    return tuple(leaf.split(".")[:-1])


def distinct(items: Iterable[Any]) -> list[Any]:
    """Return the distinct items in the order of their first occurrence."""
    return list(dict.fromkeys(items))
