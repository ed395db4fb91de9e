"""Write the author's names for numbers: keywords with a default, and constants of the file.

An attribute that the torch method reads, as in `self.head_dim**-0.5`, becomes a keyword of the
function, as does a number that it takes as an argument. A constant of the torch file is one of the
port's file. A number stays as it is where its name says nothing, or means something else there.
"""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from jaxgrad.parity.port.ir import Form, NameOf, Number
from jaxgrad.parity.port.merging.redirection import calls_of, uses_of
from jaxgrad.parity.port.source import numbers, syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.source.port_names import RESERVED
from jaxgrad.parity.port.source.source import is_torch, source_of
from jaxgrad.parity.port.source.written import Written


SAY_IT = ("axis", "p")  # options that a number is passed for without a name
KNOWN = ("eps", "epsilon")  # numbers that a reader knows without a name
FORMULA = "**"  # the place of a number in a formula


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
        written.node = numbers.with_names(written.node, names.chosen)
        if isinstance(written.node, ast.FunctionDef):
            names.give_to(written.node)
            _pass_arguments(written, functions)
    return list(functions)


def _pass_arguments(written: Written, functions: Sequence[Written]) -> None:
    """Let the calls of a function pass the numbers that they pass in the torch program."""
    arguments: ast.arguments = written.node.args
    calls = calls_of(written.name, functions) if arguments.kwonlyargs else []
    for n, argument in enumerate(arguments.kwonlyargs):
        given = [(on_expression(call).folded or {}).get(argument.arg) for call in calls]
        codes = [code for code in given if code is not None]
        have = [argument.arg in (k.arg for k in call.keywords) for call in calls]
        is_given = calls and len(codes) == len(calls) and not any(have)
        if is_given and uses_of(written.name, functions) == len(calls):
            arguments.kw_defaults[n] = None
            for call, code in zip(calls, codes, strict=True):
                call.keywords.append(ast.keyword(argument.arg, copy.deepcopy(code)))


def _constants(functions: Sequence[Written]) -> set[str]:
    """Return the constants of the torch files that have one value, and are nothing else."""
    values: dict[str, set[Any]] = defaultdict(set)
    for written in functions:
        for number, _ in _uses(written.node):
            if number.name_of is NameOf.GLOBAL:
                values[number.name].add(number.typed)
    taken = RESERVED.union(
        *(syntax.all_names(w.node) for w in functions), (w.name for w in functions)
    )
    return {name for name, found in values.items() if len(found) == 1 and name not in taken}


def _uses(node: ast.AST, place: str = "") -> Iterator[tuple[Number, str]]:
    """Yield the numbers with a name, each with `FORMULA` or the option that it is passed for."""
    number = numbers.named(node)
    if number is not None and number.name_of is not NameOf.FORMULA:
        yield number, place
        return
    inside = FORMULA if number is not None else ""
    place = (node.arg or "") if isinstance(node, ast.keyword) else inside
    for inner in ast.iter_child_nodes(node):
        yield from _uses(inner, place)


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
        self.values: dict[str, Number] = {}
        self.locals: dict[str, ast.expr] = {}
        node = written.node
        own = isinstance(node, ast.FunctionDef) and written.base and not is_torch(written.function)
        if own:
            self.variables = _variables(written)
            taken = syntax.all_names(node) | labels | RESERVED
            self.values = _keywords(node, taken, shared, formulas=formulas)
            self.attributes = _attributes(node)
            self.locals = _locals(node, taken | set(self.values))
            self.locals |= _formulas(node, taken | set(self.values) | set(self.locals))

    def chosen(self, number: Number) -> ast.expr | None:
        """Return what is written for a number or a formula."""
        if number.local in self.variables:
            return numbers.keyword(number.local, number)
        if number.name_of is NameOf.GLOBAL:
            return self._constant(number) if number.name in self.constants else None
        if number.name_of is NameOf.FORMULA:
            return syntax.name(number.local) if number.local in self.locals else None
        name = number.keyword
        if name in self.locals and _is_formula(number):
            return syntax.name(name)
        return numbers.keyword(name, number) if name in self.values else None

    def _constant(self, number: Number) -> ast.expr:
        """Return the name of a constant; that of an inlined function may be from another file."""
        known = number.name in self.order
        order = self.order.index(number.name) if known else len(self.order)
        new = dataclasses.replace(number, form=Form.CONSTANT, order=order)
        return numbers.annotated(syntax.name(number.name), new)

    def give_to(self, function: ast.FunctionDef) -> None:
        """Give a function its keywords, and the variables that hold a formula."""
        values = copy.deepcopy(self.locals)
        for name, formula in values.items():
            values[name] = numbers.with_names(numbers.annotated(formula, None), self.chosen)
        while values:  # a formula is placed after those that read it, so it ends up before them
            read = Counter(n for value in values.values() for n in syntax.names_in(value))
            name = min(reversed([*values]), key=read.__getitem__)
            value = values.pop(name)
            place = [n for n, s in enumerate(function.body) if name in syntax.names_in(s)]
            if place:
                new = ast.Assign([ast.Name(name, ast.Store())], value)
                function.body.insert(place[0], new)
        read = {n for s in function.body for n in syntax.names_in(s)}
        for name, number in self.values.items():
            if name in read:
                name_of = NameOf.ATTRIBUTE if name in self.attributes else NameOf.ARGUMENT
                default = numbers.numeral(dataclasses.replace(number, name_of=name_of))
                function.args.kwonlyargs.append(ast.arg(name))
                function.args.kw_defaults.append(default)


def _variables(written: Written) -> set[str]:
    """Return the keywords in which copies differ that are variables of the torch function."""
    stores = Counter(syntax.stored_names(source_of(written.function).node))
    return {a.arg for a in written.node.args.kwonlyargs if stores[a.arg] == 1}


def _attributes(function: ast.FunctionDef) -> set[str]:
    """Return the names of numbers that are attributes everywhere in a function."""
    uses = [number for number, _ in _uses(function)]
    others = {number.keyword for number in uses if number.name_of is not NameOf.ATTRIBUTE}
    return {number.keyword for number in uses} - others


def _keywords(
    function: ast.FunctionDef, taken: set[str], shared: Collection[str], *, formulas: bool
) -> dict[str, Number]:
    """Return the numbers of a function that become keywords: name -> number.

    A formula such as `8**-0.5` is none unless `formulas` is True: it depends on another number,
    which may be a keyword. The names in `shared` are keywords even if a reader knows the number.
    """
    uses: dict[str, list[tuple[Number, str]]] = defaultdict(list)
    for number, place in _uses(function):
        if number.name_of is not NameOf.GLOBAL:
            uses[number.keyword].append((number, place))
    return {
        name: found[0][0]
        for name, found in uses.items()
        if name.isidentifier() and name not in taken
        and len({number.typed for number, _ in found}) == 1
        and (formulas or not _is_formula(found[0][0]))
        and (name in shared
             or any(_is_unclear(name, number, place, len(found)) for number, place in found))
    }  # fmt: skip


def _is_formula(number: Number) -> bool:
    """Return whether a number is written as a formula, such as `8**-0.5` or `math.sqrt(18)`."""
    return any(isinstance(n, ast.BinOp | ast.Call) for n in ast.walk(numbers.numeral(number)))


def _formulas(function: ast.FunctionDef, taken: set[str]) -> dict[str, ast.expr]:
    """Return the attributes that are written as formulas: name -> formula."""
    found: dict[str, list[Number]] = defaultdict(list)
    for number, _ in _uses(function):
        if number.name_of is NameOf.ATTRIBUTE and _is_formula(number):
            found[number.keyword].append(number)
    return {
        name: numbers.numeral(uses[0]) for name, uses in found.items()
        if name.isidentifier() and name not in taken and len({number.typed for number in uses}) == 1
    }  # fmt: skip


def _is_unclear(name: str, number: Number, place: str, uses: int) -> bool:
    """Return whether a reader cannot tell from its place what a number is, or it comes twice."""
    if place == FORMULA:
        return True
    if name in KNOWN:
        return False
    if number.name_of is NameOf.ARGUMENT and place == name:
        return True  # it is passed on
    said = place in SAY_IT or (place == name and uses == 1)
    is_plain = isinstance(number.value, int) and number.value in (0, 1, -1)
    return not is_plain and not said


def _locals(function: ast.FunctionDef, taken: set[str]) -> dict[str, ast.expr]:
    """Return the formulas that the torch function gives to a variable and reads several times."""
    found: dict[str, list[ast.expr]] = defaultdict(list)
    for node in ast.walk(function):
        number = numbers.named(node)
        if number is not None and number.name_of is NameOf.FORMULA and number.local:
            found[number.local].append(node)  # pyright: ignore[reportArgumentType]
    return {
        name: nodes[0] for name, nodes in found.items()
        if len(nodes) > 1 and name not in taken
        and all(syntax.same(nodes[0], x) for x in nodes[1:])
    }  # fmt: skip
