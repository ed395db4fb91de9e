"""The state of a port: the functions that are written, and the one that is being interpreted."""

from __future__ import annotations

import ast
import contextlib
import copy
import dataclasses
import types
from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

from jaxgrad.parity.port.ir import Loop
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_statement
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.source.port_names import MARK, RESERVED, port_name
from jaxgrad.parity.port.source.refusals import LeavesHoles, Place, PortError, Raised
from jaxgrad.parity.port.source.slice_calls import with_slice_calls
from jaxgrad.parity.port.source.source import Source
from jaxgrad.parity.port.source.written import Assumption, Written
from jaxgrad.parity.port.values.classes import Classes
from jaxgrad.parity.port.values.ranks import Ranks
from jaxgrad.parity.port.values.settings import Settings
from jaxgrad.parity.port.values.size_tests import SizeTests
from jaxgrad.parity.port.values.value_types import Size, Value
from jaxgrad.parity.port.values.values import code_of


@dataclasses.dataclass
class Calls:
    """The calls that were written as functions: a function's code, and the path of its module.

    Eval mode writes the functions that train mode writes, with the same results.
    """

    written: set[tuple[types.CodeType, str]] = dataclasses.field(default_factory=set)
    stateful: set[tuple[types.CodeType, str]] = dataclasses.field(default_factory=set)
    # The calls in a port of classes that change variables or count random draws.
    changing: set[tuple[types.CodeType, str]] = dataclasses.field(default_factory=set)
    unrolled: set[Place] = dataclasses.field(default_factory=set)  # comprehensions that draw


@dataclasses.dataclass
class Run:
    """One run of the module on the example inputs, and what has been written so far."""

    module: nn.Module
    evaluate: Callable[[ast.expr, Scope], Value]
    execute: Callable[[list[ast.stmt], Scope], None]
    call: Callable[..., Value]
    written: list[Written] = dataclasses.field(default_factory=list)
    assumptions: list[Assumption] = dataclasses.field(default_factory=list)
    scopes: list[Scope] = dataclasses.field(default_factory=list)
    # functions of libraries -> whether they have only rearranged arrays
    libraries: dict[types.CodeType, bool] = dataclasses.field(default_factory=dict)
    constants: dict[str, Any] = dataclasses.field(default_factory=dict)  # that no state_dict has
    paths: dict[int, str] = dataclasses.field(default_factory=dict)  # id of a module -> its path
    stateful: bool = False  # whether the entry returns its params too
    used: set[str] = dataclasses.field(default_factory=set)  # paths of the tensors that are read
    output: Value | None = None  # of the module
    calls: Calls = dataclasses.field(default_factory=Calls)
    other_mode: Calls = dataclasses.field(default_factory=Calls)
    settings: Settings = dataclasses.field(default_factory=Settings)
    tracing: bool = False  # what the module is told when it asks whether it is being traced
    made: list[Any] = dataclasses.field(default_factory=list)  # objects made of configuration
    # id of an object -> the attributes that the program sets on it
    stored: dict[int, dict[str, tuple[Value, Scope]]] = dataclasses.field(default_factory=dict)
    # the attributes that the program has set on an object and not read since: (id, name)
    unread: dict[tuple[int, str], Assumption] = dataclasses.field(default_factory=dict)
    lost: list[Assumption] = dataclasses.field(default_factory=list)  # of the module's result
    inlined: frozenset[types.CodeType] = frozenset()  # functions written where they are called
    rearranging: frozenset[types.CodeType] = frozenset()  # written as their views
    flags: dict[str, Place] = dataclasses.field(default_factory=dict)  # buffers that tests assume
    changed: set[str] = dataclasses.field(default_factory=set)  # buffers, in this or the other mode
    ranks: Ranks = dataclasses.field(default_factory=Ranks)
    size_tests: SizeTests = dataclasses.field(default_factory=SizeTests)
    # the loops whose number of iterations is computed from a size -> these numbers
    loops: dict[Loop, set[int]] = dataclasses.field(default_factory=dict)
    unrollings: int = 0  # the loops that were unrolled
    warm: bool = False  # whether the module was run once before
    early: bool = False  # whether the statements after an early return are the other arm
    numbered: bool = False  # whether a module of a list is never reached by a loop's counter
    varying: frozenset[tuple[str, int]] = frozenset()  # lines that chunk an axis of any size
    leaves_holes: LeavesHoles = False  # whether refused statements are left to be written by hand
    raised: Raised | None = None  # the error that the torch program is raising
    classes: Classes | None = None  # if the port has classes, and not functions of a params tree

    def note_changing(self, place: tuple[types.CodeType, str], changes: bool) -> bool:
        """Note and return whether a call changes variables, in this or the other mode."""
        changes = changes or place in self.other_mode.changing
        if changes:
            self.calls.changing.add(place)
        return changes

    def new_unrolling(self) -> int:
        """Return the number of a loop that is unrolled."""
        self.unrollings += 1
        return self.unrollings

    def note_error(self, error: Exception, place: Place) -> None:
        """Note the statement that raised an error; a statement around it does not replace it."""
        if self.raised is None or self.raised.error is not error:
            self.raised = Raised(error, place)

    def note_handled(self) -> None:
        """Note that the torch program handles the error that it raised."""
        self.raised = None

    def finish(self, output: Value, *, stateful: bool) -> None:
        """Store the module's result and whether its function also returns updated params."""
        self.output, self.stateful = output, stateful


@dataclasses.dataclass(frozen=True, eq=False)
class Store:
    """A new value of a parameter or buffer.

    Attributes:
        place: The expression of the parameter or buffer.
        statement: The statement that puts the value there.
    """

    place: ast.expr
    statement: ast.Assign


@dataclasses.dataclass(eq=False)
class Frame:
    """The variables of a function that is interpreted where it is called."""

    values: dict[str, Value]
    source: Source
    renamed: dict[str, str] = dataclasses.field(default_factory=dict)
    resume: Callable[[Value], None] | None = None  # runs the block of `with`, at a `yield`
    shown: int = 0
    plain: bool = False  # whether its sizes have no names, and its comments are not kept


@dataclasses.dataclass(frozen=True)
class Mark:
    """A function that is being interpreted, before one of its statements."""

    values: dict[str, Value]
    length: int  # of the body
    stateful: bool


@dataclasses.dataclass(eq=False)
class Scope:
    """A function that is being interpreted: its variables and the statements of its port."""

    run: Run
    source: Source
    values: dict[str, Value]
    body: list[ast.stmt] = dataclasses.field(default_factory=list)
    no_grad: bool = False
    line: ast.AST | None = None  # the statement that is being interpreted
    names: set[str] = dataclasses.field(default_factory=set)  # names that the port's function uses
    lasting: set[str] = dataclasses.field(default_factory=set)  # names of stored values
    indices: set[str] = dataclasses.field(default_factory=set)  # loop counters up to a fixed number
    loop_modules: set[str] = dataclasses.field(default_factory=set)  # modules that a loop goes over
    stateful: bool = False  # whether the function changes buffers, and returns its params too
    changes: bool = False  # whether the method changes variables, if the port has classes
    stores: list[Store] = dataclasses.field(default_factory=list)  # of new buffers, so far
    shown: int = 0  # the last source line whose comments were kept
    folded: dict[str, ast.expr] = dataclasses.field(default_factory=dict)  # numbers it is given
    pending_comments: list[str] = dataclasses.field(default_factory=list)  # comments above an `if`
    renamed: dict[str, str] = dataclasses.field(default_factory=dict)  # variable -> port's name
    resume: Callable[[Value], None] | None = None  # runs the block of `with`, at a `yield`
    code: types.CodeType | None = None  # of the function that became this function of the port
    passed: dict[str, ast.expr] = dataclasses.field(default_factory=dict)  # what the caller passes
    borrowed: list[Value] = dataclasses.field(default_factory=list)  # containers of the caller
    module: Value | None = None  # whose method it is, or that the function takes first
    # stored values of a caller, and what they are here
    carried: list[tuple[Value, Value]] = dataclasses.field(default_factory=list)
    plain: bool = False  # as in a frame
    operators: set[str] = dataclasses.field(default_factory=set)  # of torch that it has called

    def mark(self) -> Mark:
        """Return what is needed to take the next statement back."""
        return Mark(dict(self.values), len(self.body), self.stateful)

    def take_back(self, mark: Mark) -> None:
        """Drop the statements that were written since a mark, and the values of variables."""
        del self.body[mark.length :]
        self.values.clear()
        self.values.update(mark.values)
        self.stateful = mark.stateful

    def begin(self, node: ast.AST) -> None:
        """Note the statement that is being interpreted."""
        self.line = node

    def place(self, node: ast.AST | None = None) -> Place:
        return self.source.place(node or self.line or self.source.node)

    def refuse(self, reason: str, node: ast.AST | None = None) -> PortError:
        return PortError(reason, self.place(node))

    def emit(self, statement: ast.stmt) -> None:
        """Add a statement, with the comments of the torch line that it is from."""
        statement = with_slice_calls(statement)
        if self.plain and isinstance(statement, ast.Assert):
            statement.msg = None
            if set(syntax.names_in(statement.test)) <= {PARAMS}:
                return  # the sizes of the params do not change
        comments, trailing = self._comments()
        known = on_statement(statement)
        known.comments, known.trailing = tuple(comments), trailing
        self.body.append(statement)

    def comments_above(self, line: int) -> list[str]:
        """Return the comments on the lines directly above a line."""
        first = line
        while first - 1 in self.source.own_lines:
            first -= 1
        found = [self.source.comments[n] for n in range(first, line)]
        return [text for text in found if not MARK.match(text)]

    def hold_comments(self, node: ast.stmt) -> None:
        """Keep the comments above a folded statement for the next one that the port has."""
        if node.lineno > self.shown:
            self.pending_comments += self.comments_above(node.lineno)
            self.shown = node.end_lineno or node.lineno

    def hold_comments_above(self, node: ast.stmt) -> None:
        """Keep the comments above a statement for the next one that the port has."""
        self.pending_comments = [*self.pending_comments, *self.comments_above(node.lineno)]

    def drop_comments(self, until: int | None = None) -> None:
        """Forget the comments that were kept, and those up to a line of the source."""
        self.pending_comments = []
        self.shown = self.shown if until is None else until

    def _comments(self) -> tuple[list[str], str]:
        node, source = self.line, self.source
        if self.plain or node is None or getattr(node, "lineno", 0) <= self.shown:
            return [], ""
        first, last = node.lineno, getattr(node, "end_lineno", node.lineno)  # pyright: ignore[reportAttributeAccessIssue]
        if isinstance(node, ast.For | ast.With | ast.If | ast.While):
            last = first
        self.shown = last
        above, self.pending_comments = [*self.pending_comments, *self.comments_above(first)], []
        inside = [source.comments[n] for n in range(first, last) if n in source.own_lines]
        trailing = source.comments.get(last, "") if last not in source.own_lines else ""
        inside = [text for text in inside if not MARK.match(text)]
        return above + inside, "" if MARK.match(trailing) else trailing

    @contextlib.contextmanager
    def block(self) -> Iterator[list[ast.stmt]]:
        """Collect the statements of a nested block in a list of their own."""
        saved, self.body = self.body, []
        try:
            yield self.body
        finally:
            self.body = saved

    @contextlib.contextmanager
    def grad_mode(self, *, no_grad: bool) -> Iterator[None]:
        """Interpret a block in torch's gradient mode, with or without gradients."""
        saved, self.no_grad = self.no_grad, no_grad
        try:
            yield
        finally:
            self.no_grad = saved

    @contextlib.contextmanager
    def looping_over(self, modules: set[str]) -> Iterator[None]:
        """Interpret an iteration of a loop whose variables are modules."""
        self.loop_modules |= modules
        try:
            yield
        finally:
            self.loop_modules -= modules

    def note_update(self) -> None:
        """Note that the function updates buffers, so that it returns its params too."""
        self.stateful = True

    def note_change(self) -> None:
        """Note that the method changes variables, if the port has classes."""
        self.changes = True

    def use_names(self, names: set[str]) -> None:
        """Set the names that the port's function uses, as when an iteration begins again."""
        self.names = names

    def local(self, name: str) -> str:
        """Return the port's name of a local variable."""
        local = self.renamed.get(name) or port_name(name)
        self.names.add(local)
        self.indices.discard(local)
        return local

    def enter(self, frame: Frame) -> Frame:
        """Interpret in another frame, and return the one that is left."""
        left = Frame(self.values, self.source, self.renamed, self.resume, self.shown, self.plain)
        self.values, self.source, self.renamed = frame.values, frame.source, frame.renamed
        self.resume, self.shown, self.plain = frame.resume, frame.shown, frame.plain
        return left

    def fresh(self, name: str) -> str:
        """Return a name that the function does not use yet."""
        taken = self.names | set(self.values) | self.lasting | RESERVED
        found = syntax.unique(name, taken)
        self.names.add(found)
        return found

    def assign(self, name: str, code: ast.expr) -> ast.expr:
        """Emit `name = code` and return the name's expression."""
        if not (syntax.is_name(code, name)):
            self.emit(ast.Assign([ast.Name(name, ast.Store())], code))
        return syntax.name(name)

    def once(self, code: ast.expr, name: str, elements: int = 0) -> ast.expr:
        """Return an expression that may be written twice: a name, or an element of one.

        Args:
            code: The expression.
            name: The name that it gets, if it needs one.
            elements: The number of elements, if it is a tuple or list.
        """
        probe = code
        while isinstance(probe, ast.Attribute | ast.Subscript):
            probe = probe.value
        if isinstance(probe, ast.Name | ast.Constant):
            return copy.deepcopy(code)
        code = self.assign(self.fresh(name), code)
        on_statement(self.body[-1]).temporary = True
        on_statement(self.body[-1]).elements = elements
        return code

    def is_index(self, code: ast.expr) -> bool:
        """Return whether an expression depends on nothing but counters of loops of fixed length."""
        return set(syntax.names_in(code)) <= self.indices

    def has_both_arms(self, test: Size, node: ast.expr) -> bool:
        """Return whether both arms of a test on a size are written; note what it gives here."""
        if self.plain or self.run.ranks.fixes(test) or self.is_index(code_of(test)):
            return False
        return self.run.size_tests.note(self.place(node), bool(test.real))

    def assume(self, node: ast.AST, text: str) -> None:
        if not self.plain:
            self.run.assumptions.append(Assumption(self.place(node), text))


@dataclasses.dataclass(frozen=True)
class CallSite:
    """A call of the torch program: its arguments, and where it is."""

    args: list[Value]
    keywords: dict[str, Value]
    scope: Scope
    node: ast.AST

    def refuse(self, reason: str) -> PortError:
        return self.scope.refuse(reason, self.node)


Special = Callable[[CallSite], Value]  # how a function of Python or torch is interpreted
