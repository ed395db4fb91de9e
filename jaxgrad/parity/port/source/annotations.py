"""Facts about the statements and expressions of the port, which are `ast` nodes until written.

An `ast` node says what is written. What it means, and where it comes from, is in its annotations:
`on_statement` and `on_expression` return them. A field that nobody has set has its default, and
reading it does not change the node::

    on_statement(loop).comments = on_statement(first).comments
    on_expression(code).number = Number(1e-5, "eps")

The annotations of a node are stored in the node itself. So `copy.copy` of a node copies them,
`copy.deepcopy` copies their values too, and a node that is built anew has none. Two expressions
are the same (`syntax.same`) whatever their annotations.

No other file of the porter reads or writes the `__dict__` of a node (tests/test_layout.py).
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Mapping

from jaxgrad.parity.port.ir import (
    ArrayProperty,
    Helper,
    Initial,
    Key,
    Loop,
    Number,
    Op,
    Part,
    Stop,
    UpdateBuffer,
)


class _OfNode:
    """Shares the `__dict__` of a node, so that the node holds the values and copies have them."""

    def __init__(self, node: ast.AST) -> None:
        self.__dict__ = node.__dict__


@dataclasses.dataclass(init=False, repr=False, eq=False)
class StatementAnnotations(_OfNode):
    """What the porter knows about a statement of the port."""

    # The comment lines above the statement, each with its `#`. `Scope.emit` sets those of the torch
    # line; passes move them along. The writer prints them.
    comments: tuple[str, ...] = ()

    # The comment behind the statement, or "". `Scope.emit` sets that of the torch line, `ties` and
    # the flax constructors write `# tied`. The writer prints it, above the statement if it is long.
    trailing: str = ""

    # Whether the statement gives a part of the params a new value: its target is the place of the
    # part, alone or after the result of a call. `finish/updates` writes the copy of the params that
    # these statements change.
    update: UpdateBuffer | None = None

    # The number of the loop that was unrolled, if the statement is one iteration's copy, or 0.
    # `finish/repeats` makes loops again of such statements alone, and `finish/leaf_loops` maps over
    # trees.
    unrolled: int = 0

    # Whether every iteration of a `for` calls modules of one class and one shape and keeps the
    # shapes of its variables, so that it may be a `lax.scan`.
    uniform: bool = False

    # The loop of the torch program that a `for` is, if its number of iterations is computed from a
    # size. The docstring of the function names the loops that grow with an input (`source/naming`).
    loop: Loop | None = None

    # Whether the statement appends to a list of the port. `cleaning` removes the statement if
    # nothing reads the list.
    appends: bool = False

    # Whether the statement names a value that has no name in the torch program. `finish/names` then
    # looks for a better name.
    temporary: bool = False

    # The number of elements, if the statement names a tuple or list of a call, which has no name in
    # the torch program, or 0. `finish/columns` unpacks it, and `finish/names` does not give it the
    # name of one of its elements.
    elements: int = 0

    # Whether the statement computes a part of a longer one under a name of the part's own. Parts of
    # this part do not get that name (`finish/part_names`).
    part: bool = False


@dataclasses.dataclass(init=False, repr=False, eq=False)
class ExpressionAnnotations(_OfNode):
    """What the porter knows about an expression of the port, or a part of one."""

    # The number that this is: a literal, a formula, or a name in its place. Passes replace it.
    number: Number | None = None

    # The operator of torch that this computes. Passes ask `is_op` and `parameters_of` of `syntax`.
    computes: Op | None = None

    # The function that this names, if the function is neither the port's nor an operator of torch.
    # Passes ask `syntax.calls`.
    helper: Helper | None = None

    # The property of an array that this reads. The docstring of a function names sizes after the
    # variables that unpack a shape (`finish/letters`).
    array_property: ArrayProperty | None = None

    # Whether numpy computes this while JAX traces, from sizes and configuration alone.
    numpy: bool = False

    # Whether this is a dtype, such as `jnp.int32` or `bool`.
    dtype: bool = False

    # The origin of the array's values, if a variable of a flax class starts with them. The
    # docstring of the class lists the variables without values.
    initial: Initial | None = None

    # Whether the name is that of a function of the port, which may change, and not of a local
    # variable.
    written: bool = False

    # The numbers among the arguments of a call in the torch program, by parameter. The function of
    # the port has their values in it. `merging/numbers` passes those that become keywords.
    folded: Mapping[str, ast.expr] | None = None

    # The key of a random draw that this name is. `finish/keys` and the flax classes name the keys
    # and split them.
    draw: Key | None = None

    # Whether no gradient goes through the value, because it is the call of `lax.stop_gradient`
    # (`syntax.stopped`).
    stop: Stop | None = None

    # Whether the call changes variables of the module in a port of flax classes: buffers, or the
    # counts of its random streams. A nested function that is differentiated calls a copy
    # (`calls/inner_gradients`).
    changes: bool = False

    # The part of a torch module that this expression of the params is, as in `p["conv"]["weight"]`.
    # Flax classes reach it in another way, and a call that takes each tensor of a module takes
    # `**p["conv"]`.
    part: Part | None = None

    # For the keyword `**p["conv"]` in a call of `F`: the names of the tensors, which are the call's
    # arguments. `finish/hooked` and `finish/ties` pass them one by one.
    tensors: frozenset[str] | None = None

    # The layer of `jaxgrad.nnx` that this call makes, or "".
    layer: str = ""

    # Whether the number of the list's elements depends on a size. `lift` hands it to the value.
    counted: bool = False

    # The loop of the torch program that a comprehension of arrays is, if its number of elements is
    # computed from a size.
    loop: Loop | None = None

    # What is written for this list where it is assigned to a fixed number of variables.
    unpacked: ast.expr | None = None


def on_statement(node: ast.AST) -> StatementAnnotations:
    """Return the annotations of a statement; setting a field annotates the statement."""
    return StatementAnnotations(node)


def on_expression(node: ast.AST) -> ExpressionAnnotations:
    """Return the annotations of an expression; setting a field annotates the expression."""
    return ExpressionAnnotations(node)


def has_remarks(statement: ast.stmt) -> bool:
    """Return whether a statement has comments, above it or behind it."""
    known = on_statement(statement)
    return bool(known.comments or known.trailing)


def copy_remarks(source: ast.stmt, first: ast.stmt, last: ast.stmt | None = None) -> None:
    """Give the comments of a statement to the one that takes its place, or to several.

    Args:
        source: The statement whose comments are copied; what it has none of is not replaced.
        first: The statement that gets the comments above.
        last: The one that gets the comment behind; `first` unless given.
    """
    known, last = on_statement(source), first if last is None else last
    if known.comments:
        on_statement(first).comments = known.comments
    if known.trailing:
        on_statement(last).trailing = known.trailing


def drop_remarks(statement: ast.stmt) -> None:
    """Take the comments of a statement away."""
    known = on_statement(statement)
    known.comments, known.trailing = (), ""


def put_comments_above(statement: ast.stmt, comments: Iterable[str]) -> None:
    """Put comments above a statement and above the comments that it has."""
    known = on_statement(statement)
    known.comments = (*comments, *known.comments)


def move_comments(source: ast.stmt, target: ast.stmt) -> None:
    """Take the comments above one statement, and give them to another in place of its own."""
    on_statement(target).comments = on_statement(source).comments
    on_statement(source).comments = ()
