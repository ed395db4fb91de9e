"""Write the author's names for numbers: keywords with a default, and constants of the file.

An attribute that the torch method reads, as in `self.head_dim**-0.5`, becomes a keyword of the
function, as does a number that it takes as an argument. A constant of the torch file is one of the
port's file. A number stays as it is where its name says nothing, or means something else there.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from jaxgrad.parity.port.merging.keywords import keyword, keyword_name
from jaxgrad.parity.port.merging.redirection import calls_of, uses_of
from jaxgrad.parity.port.source import authors, syntax
from jaxgrad.parity.port.source.annotations import Author, FileConstant, on_expression, on_parameter
from jaxgrad.parity.port.source.port_names import RESERVED
from jaxgrad.parity.port.source.source import is_torch, source_of
from jaxgrad.parity.port.source.written import Written


SAY_IT = ("axis", "p")  # options that a number is passed for without a name
KNOWN = ("eps", "epsilon")  # numbers that a reader knows without a name


def with_named_numbers(functions: Sequence[Written], *, methods: bool = False) -> list[Written]:
    """Return the functions with names for numbers.

    Args:
        functions: The functions of the port.
        methods: Whether the functions become methods of classes, where a formula is an attribute,
            and methods written from one function of torch have the same attributes.
    """
    constants = _constants(functions)
    labels = {w.name for w in functions}
    shared: dict[Any, set[str]] = defaultdict(set)
    if methods:
        for written in functions:
            names = _Names(written, constants, labels, formulas=bool(written.paths))
            shared[written.function, written.owner] |= set(names.values)
    for written in functions:  # each before those that call it
        own = shared[written.function, written.owner]
        names = _Names(written, constants, labels, own, formulas=methods and bool(written.paths))
        written.node = authors.written(written.node, names.chosen)
        if isinstance(written.node, ast.FunctionDef):
            names.give_to(written.node)
            _pass_arguments(written, functions)
    return list(functions)


def _pass_arguments(written: Written, functions: Sequence[Written]) -> None:
    """Let the calls of a function pass the numbers that they pass in the torch program."""
    arguments: ast.arguments = written.node.args
    calls = calls_of(written.name, functions) if arguments.kwonlyargs else []
    for n, argument in enumerate(arguments.kwonlyargs):
        given = [(on_expression(call).numbers or {}).get(argument.arg) for call in calls]
        codes = [code for code in given if code is not None]
        have = [argument.arg in (k.arg for k in call.keywords) for call in calls]
        is_given = calls and len(codes) == len(calls) and not any(have)
        if is_given and uses_of(written.name, functions) == len(calls):
            arguments.kw_defaults[n] = None
            for call, code in zip(calls, codes, strict=True):
                call.keywords.append(ast.keyword(argument.arg, copy.deepcopy(code)))


def _constants(functions: Sequence[Written]) -> set[str]:
    """Return the constants of the torch files that have one value, and are nothing else."""
    texts: dict[str, set[str]] = defaultdict(set)
    for written in functions:
        for node, author, _ in _uses(written.node):
            if author.kind == authors.GLOBAL:
                texts[author.name].add(syntax.text(node))
    taken = RESERVED.union(*(_taken(w.node) for w in functions), (w.name for w in functions))
    return {name for name, found in texts.items() if len(found) == 1 and name not in taken}


def _taken(node: ast.AST) -> set[str]:
    """Return the names of variables and functions in a function."""
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
    return names | {n.arg for n in ast.walk(node) if isinstance(n, ast.arg)}


def _uses(node: ast.AST, place: str = "") -> Iterator[tuple[ast.expr, Author, str]]:
    """Yield the numbers with a name, each with `formula` or the option that it is passed for."""
    author = authors.of(node)
    if author is not None and author.kind != authors.FORMULA:
        assert isinstance(node, ast.expr)
        yield node, author, place
        return
    place = authors.FORMULA if author is not None else ""
    if isinstance(node, ast.keyword):
        place = node.arg or ""
    for inner in ast.iter_child_nodes(node):
        yield from _uses(inner, place or (authors.FORMULA if author is not None else ""))


class _Names:
    """The names of numbers in one function."""

    def __init__(
        self, written: Written, constants: set[str], labels: set[str],
        shared: Collection[str] = (), *, formulas: bool = False,
    ) -> None:  # fmt: skip
        self.constants = constants
        self.order = list(getattr(written.function, "__globals__", {}))
        self.variables: set[str] = set()
        self.attributes: set[str] = set()
        self.values: dict[str, ast.expr] = {}
        self.locals: dict[str, ast.expr] = {}
        node = written.node
        own = isinstance(node, ast.FunctionDef) and written.base and not is_torch(written.function)
        if own:
            self.variables = _variables(written)
            taken = _taken(node) | labels | RESERVED
            self.values = _keywords(node, taken, shared, formulas=formulas)
            self.attributes = _attributes(node)
            self.locals = _locals(node, taken | set(self.values))
            self.locals |= _formulas(node, taken | set(self.values) | set(self.locals))

    def chosen(self, author: Author) -> ast.expr | None:
        """Return what is written for a number or a formula."""
        if author.local in self.variables:
            return keyword(author.local)
        if author.kind == authors.GLOBAL and author.name in self.constants:
            code = syntax.name(author.name)
            on_expression(code).constant = FileConstant(self._place(author.name), author.number)
            return code
        if author.kind == authors.FORMULA:
            return syntax.name(author.local) if author.local in self.locals else None
        name = _name(author)
        if author.kind == authors.GLOBAL:
            return None
        if name in self.locals and _is_formula(author):
            return syntax.name(name)
        return keyword(name) if name in self.values else None

    def _place(self, name: str) -> int:
        """Return where the torch file has a constant; an inlined function may have another file."""
        return self.order.index(name) if name in self.order else len(self.order)

    def give_to(self, function: ast.FunctionDef) -> None:
        """Give a function its keywords, and the variables that hold a formula."""
        values = copy.deepcopy(self.locals)
        for name, formula in values.items():
            on_expression(formula).author = None
            values[name] = authors.written(formula, self.chosen)
        while values:  # a formula is placed after those that read it, so it ends up before them
            read = Counter(n for value in values.values() for n in syntax.names_in(value))
            name = min(reversed([*values]), key=read.__getitem__)
            value = values.pop(name)
            place = [n for n, s in enumerate(function.body) if name in syntax.names_in(s)]
            if place:
                new = ast.Assign([ast.Name(name, ast.Store())], value)
                function.body.insert(place[0], new)
        read = {n for s in function.body for n in syntax.names_in(s)}
        for name, value in self.values.items():
            if name in read:
                argument = ast.arg(name)
                on_parameter(argument).attribute = name in self.attributes
                function.args.kwonlyargs.append(argument)
                function.args.kw_defaults.append(copy.deepcopy(value))


def _variables(written: Written) -> set[str]:
    """Return the keywords in which copies differ that are variables of the torch function."""
    stores = Counter(
        n.id for n in ast.walk(source_of(written.function).node)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    )  # fmt: skip
    return {a.arg for a in written.node.args.kwonlyargs if stores[a.arg] == 1}


def _name(author: Author) -> str:
    return keyword_name(authors.variable(author.name))


def _attributes(function: ast.FunctionDef) -> set[str]:
    """Return the names of numbers that are attributes everywhere in a function."""
    uses = [author for _, author, _ in _uses(function)]
    others = {_name(author) for author in uses if author.kind != authors.ATTRIBUTE}
    return {_name(author) for author in uses} - others


def _keywords(
    function: ast.FunctionDef, taken: set[str], shared: Collection[str], *, formulas: bool
) -> dict[str, ast.expr]:
    """Return the numbers of a function that become keywords: name -> number.

    A formula such as `8**-0.5` is none unless `formulas` is True: it depends on another number,
    which may be a keyword. The names in `shared` are keywords even if a reader knows the number.
    """
    uses: dict[str, list[tuple[Author, str]]] = defaultdict(list)
    for _, author, place in _uses(function):
        if author.kind != authors.GLOBAL:
            uses[_name(author)].append((author, place))
    return {
        name: found[0][0].number
        for name, found in uses.items()
        if name.isidentifier() and name not in taken
        and len({syntax.text(author.number) for author, _ in found}) == 1
        and (formulas or not _is_formula(found[0][0]))
        and (name in shared
             or any(_is_unclear(name, author, place, len(found)) for author, place in found))
    }  # fmt: skip


def _is_formula(author: Author) -> bool:
    """Return whether a number is written as a formula, such as `8**-0.5` or `math.sqrt(18)`."""
    return any(isinstance(n, ast.BinOp | ast.Call) for n in ast.walk(author.number))


def _formulas(function: ast.FunctionDef, taken: set[str]) -> dict[str, ast.expr]:
    """Return the attributes that are written as formulas: name -> formula."""
    found: dict[str, list[Author]] = defaultdict(list)
    for _, author, _ in _uses(function):
        if author.kind == authors.ATTRIBUTE and _is_formula(author):
            found[_name(author)].append(author)
    return {
        name: uses[0].number for name, uses in found.items()
        if name.isidentifier() and name not in taken
        and len({syntax.text(author.number) for author in uses}) == 1
    }  # fmt: skip


def _is_unclear(name: str, author: Author, place: str, uses: int) -> bool:
    """Return whether a reader cannot tell from its place what a number is, or it comes twice."""
    if place == authors.FORMULA:
        return True
    if name in KNOWN:
        return False
    if author.kind == authors.ARGUMENT and place == name:
        return True  # it is passed on
    said = place in SAY_IT or (place == name and uses == 1)
    return syntax.text(author.number) not in ("0", "1", "-1") and not said


def _locals(function: ast.FunctionDef, taken: set[str]) -> dict[str, ast.expr]:
    """Return the formulas that the torch function gives to a variable and reads several times."""
    found: dict[str, list[ast.expr]] = defaultdict(list)
    for node in ast.walk(function):
        author = authors.of(node)
        if author is not None and author.kind == authors.FORMULA and author.local:
            found[author.local].append(node)  # pyright: ignore[reportArgumentType]
    counts = Counter({name: len(nodes) for name, nodes in found.items()})
    return {
        name: nodes[0] for name, nodes in found.items()
        if counts[name] > 1 and name not in taken and len({syntax.text(x) for x in nodes}) == 1
    }  # fmt: skip
