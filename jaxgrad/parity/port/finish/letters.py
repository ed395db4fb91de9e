"""Name the sizes of arrays in docstrings: by the author's variable, or by a letter."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Any

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.written import Written


AXES: dict[Any, str] = {  # usual letters of the sizes, by rank
    1: "N", 2: "ND", (2, " int"): "NL", (2, " bool"): "NL", 3: "NLD", 4: "NCHW", 5: "NCTHW",
    (4, "heads"): "NCLD",
}  # fmt: skip
SPARE = "LMKSTDEGHPQRUVW"
MORE = "..."  # the other elements of a list of equal arrays
LONGEST = 8  # characters of a size that is computed from others, as `2*N`


class Letters:
    """The names of the sizes of one function.

    A size that differs from call to call, and one that is computed from the inputs in a long way,
    has a letter of its own; among the results it has a prime: `(N, C, H, W) -> (N, C, H', W')`.
    """

    def __init__(self, known: Mapping[str, str], written: Written, calls: Sequence[Any]) -> None:
        self.known = known
        self.own: dict[tuple[str, ...], str] = {}
        self.taken = _printed(calls, known)
        for name in calls[0].arguments:
            passed = tuple(c.arguments.get(name) for c in calls)
            if all(isinstance(x, str) for x in passed) and not all(x.isdigit() for x in passed):
                self.own[passed] = name
        for name, axis, label in _unpacked(written):
            vector = _vector([c.arguments.get(name) for c in calls], axis)
            if vector and not (len(set(vector)) == 1 and vector[0].isdigit()):
                self.own.setdefault(vector, label)

    def text(self, shapes: Sequence[Any], new: bool = False) -> str:
        """Return the text of a shape in every call, or nothing if the calls differ in more."""
        first = shapes[0]
        if first == MORE:
            return MORE
        if isinstance(first, dict):
            if not all(isinstance(x, dict) and x.keys() == first.keys() for x in shapes):
                return ""
            texts = {k: self.text([x[k] for x in shapes], new) for k in first}
            inner = ", ".join(f"{k} {text}" for k, text in texts.items() if text)
            return f"{{{inner}}}" if inner else ""
        if isinstance(first, list):
            if not first or not all(isinstance(x, list) and len(x) == len(first) for x in shapes):
                return ""
            parts = [self.text([x[n] for x in shapes], new) for n in range(len(first))]
            return f"[{', '.join(parts)}]" if all(parts) else ""
        if not all(isinstance(x, tuple) and len(x[0]) == len(first[0]) for x in shapes):
            return ""
        rank = len(first[0])
        kind = first[1] if all(x[1] == first[1] for x in shapes) else ""
        vectors = [_vector(shapes, n) for n in range(rank)]
        is_image = rank != 4 or (vectors[2] != vectors[3] and not _is_constant(vectors[3]))
        axes = kind if is_image else "heads"
        names = [self._size(x, rank, n, axes, new) for n, x in enumerate(vectors)]
        return f"({names[0]},){kind}" if rank == 1 else f"({', '.join(names)}){kind}"

    def _size(self, vector: tuple[str, ...], rank: int, axis: int, kind: str, new: bool) -> str:
        if vector in self.own:
            return self.own[vector]
        place = vector if not all(x.isdigit() for x in vector) else (*vector, f"{axis} of {rank}")
        if place in self.own:
            return self.own[place]
        if len(set(vector)) == 1:
            text = _renamed(vector[0], self.known)
            if (len(text) <= LONGEST and "(" not in text) or text.isidentifier():
                return text
        values = set(vector) - {"1"}
        if "1" in vector and len(values) == 1:  # it is broadcast in some calls
            return f"1|{self._size((*values,), rank, axis, kind, new)}"
        known = next((x for names, x in self.own.items() if _broadcasts(vector, names)), "")
        if known:
            return f"1|{known}"
        usual = "N" if axis == 0 else _usual(rank, axis, kind)
        is_length = usual == "D" and not any(x.isdigit() for x in vector)
        self.own[place] = self._letter("L" if is_length else usual, new)
        return self.own[place]

    def _letter(self, usual: str, new: bool) -> str:
        """Return a letter that no other size of the function has."""
        taken = {*self.own.values(), *self.taken, ""}
        alike = [usual, *(usual + "'" * n for n in (1, 2, 3))]  # other sides, other channels
        first = alike[1:] if new else [usual] if usual in "NL" else alike
        spare = [*("B" if usual == "N" else ""), *SPARE]
        return next((x for x in [*first, *spare] if x not in taken), usual)


def _broadcasts(vector: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Return whether a size is that of another axis, or one in some calls."""
    if "1" not in vector or len(vector) != len(whole):
        return False
    return all(x in ("1", y) for x, y in zip(vector, whole, strict=True))


def _usual(rank: int, axis: int, kind: str) -> str:
    """Return the usual letter of a size; a matrix of integers has tokens, another one features."""
    return AXES.get((rank, kind), AXES.get(rank, ""))[axis : axis + 1] or "D"


def _is_constant(vector: Sequence[str]) -> bool:
    """Return whether a size is a number of the configuration: an image has no such side."""
    return all(x.isdigit() for x in vector)


def _vector(shapes: Sequence[Any], axis: int) -> tuple[str, ...]:
    """Return one size in every call."""
    if not all(isinstance(x, tuple) and len(x[0]) > axis for x in shapes):
        return ()
    return tuple(str(x[0][axis]) for x in shapes)


def _printed(calls: Sequence[Any], known: Mapping[str, str]) -> set[str]:
    """Return the names of the sizes that are the same in every call."""
    shapes = [_flat([*c.arguments.values(), c.result]) for c in calls]
    if any(len(x) != len(shapes[0]) for x in shapes):
        return set(known.values())
    vectors = [
        _vector(pair, axis) for pair in zip(*shapes, strict=True) for axis in range(len(pair[0][0]))
    ]
    return {known[v[0]] for v in vectors if v and len(set(v)) == 1 and v[0] in known}


def _renamed(size: str, known: Mapping[str, str]) -> str:
    """Return a size with the symbols' names: `2*floordiv(s1, 4)` as `2*(H//4)`."""
    text = re.sub(r"[A-Za-z_]\w*", lambda match: known.get(match[0], match[0]), size)
    text = re.sub(r"floordiv\((\w+), (\d+)\)", r"(\1//\2)", text)
    return re.sub(r"^\(([^()]+)\)$", r"\1", text)


def names_of_sizes(functions: Sequence[Written], calls: Mapping[str, Any]) -> dict[str, str]:
    """Return the name of each symbol: the first one of the author's, or its usual letter."""
    names: dict[str, str] = {}
    for written in functions:
        for name, axis, label in _unpacked(written):
            for call in calls.get(written.name, ()):
                (size, *rest) = {*_vector([call.arguments.get(name)], axis)} or {""}
                if re.fullmatch(r"s\d+", size) and label not in names.values() and not rest:
                    names.setdefault(size, label)
    for call in calls.get(functions[0].name, ()):
        for shape in _flat(list(call.arguments.values())):
            rank = len(shape[0])
            for axis, size in enumerate(map(str, shape[0])):
                if re.fullmatch(r"s\d+", size) and size not in names:
                    usual = _usual(rank, axis, shape[1])
                    is_length = usual == "D"  # weights fix the number of features
                    order = [*("L" if is_length else ""), usual, *SPARE]
                    names[size] = next(x for x in order if x not in names.values())
    return names


def _flat(shape: Any) -> list[Any]:
    if isinstance(shape, dict):
        shape = list(shape.values())
    if isinstance(shape, list):
        return [x for part in shape for x in _flat(part)]
    return [shape] if isinstance(shape, tuple) else []


def _unpacked(written: Written) -> list[tuple[str, int, str]]:
    """Return the variables that have a size of an argument: its name, the dim, the variable."""
    if not isinstance(written.node, ast.FunctionDef):
        return []
    found: list[tuple[str, int, str]] = []
    stored: set[str] = set()
    for statement in written.node.body:
        if isinstance(statement, ast.Assign):
            found += [x for x in _sizes_in(statement) if x[0] not in stored and x[2] != "_"]
        stored |= syntax.assigned(statement)
    return found


def _sizes_in(statement: ast.Assign) -> list[tuple[str, int, str]]:
    target, value = statement.targets[0], statement.value
    if isinstance(target, ast.Tuple) and _is_shape(value):
        names = [x.id if isinstance(x, ast.Name) else "_" for x in target.elts]
        return [(value.value.id, n, name) for n, name in enumerate(names)]  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(value, ast.Subscript) and _is_shape(value.value) and isinstance(target, ast.Name):
        if isinstance(value.slice, ast.Constant):
            return [(value.value.value.id, value.slice.value, target.id)]  # pyright: ignore[reportAttributeAccessIssue, reportReturnType]
    return []


def _is_shape(code: ast.expr) -> bool:
    return syntax.is_shape(code) and isinstance(code.value, ast.Name)
