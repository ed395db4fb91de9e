"""Find the source of both programs, and the lines that a finding names."""

from __future__ import annotations

import contextlib
import dataclasses
import dis
import inspect
import linecache
import re
from collections.abc import Iterable, Sequence
from typing import Any

from jax.extend import core as jex_core

from jaxgrad._core import source
from jaxgrad.parity.prove.edits import class_lines, function_lines


LINES = 40  # of a program; of a longer one those around the first marked line


@dataclasses.dataclass(frozen=True)
class Listing:
    """A part of a program's source."""

    file: str  # without folders; empty for the printed form of a module
    start: int  # the number of the first line
    lines: tuple[str, ...]
    marked: tuple[int, ...] = ()  # the numbers of the lines that a finding names

    def has(self, line: str) -> bool:
        """Whether the listing contains a line, given as `file:line`."""
        file, _, number = line.rpartition(":")
        shown = range(self.start, self.start + len(self.lines))
        return file == self.file and number.isdigit() and int(number) in shown

    def marking(self, text: str) -> Listing:
        """Mark the lines that a text names as `file:line` too."""
        named = re.findall(rf"(?<![\w.-]){re.escape(self.file)}:(\d+)", text) if self.file else []
        numbers = {int(n) for n in named} & set(range(self.start, self.start + len(self.lines)))
        return dataclasses.replace(self, marked=tuple(sorted({*self.marked, *numbers})))

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> Listing:
        """Rebuild a listing from JSON."""
        lists = {name: tuple(fields[name]) for name in ("lines", "marked")}
        return cls(**{**fields, **lists})


def of_torch(module: Any, name: str = "", line: str = "") -> Listing | None:
    """Return the torch program, or None if there is no readable source.

    Args:
        module: The torch module, or None.
        name: The dotted path of a module or parameter to mark.
        line: `file:line` of a call to mark, if it is known.
    """
    if module is None:
        return None
    name_of_file, _, number = line.rpartition(":")
    for kind in dict.fromkeys(map(type, module.modules())):
        file = _place(getattr(kind, "forward", None))[0]
        if number.isdigit() and source.short_name(file) == name_of_file:
            return _cut(file, function_lines(file, int(number)), (int(number),))
    if _is_torchs(type(module)):
        return _printed(module, name)
    owner, child = _written(module, name)
    file, numbers = _place(getattr(type(owner), "forward", None))
    reads = rf"\bself\.{re.escape(child)}\b"
    marked = [n for n in numbers if child and re.search(reads, linecache.getline(file, n))]
    return _cut(file, numbers, tuple(marked))


def of_jax(fn: Any, equations: Iterable[jex_core.JaxprEqn] = (), line: str = "") -> Listing | None:
    """Return the JAX program, or None if there is no readable source.

    Args:
        fn: The user's function or module.
        equations: The equations of the traced port.
        line: `file:line` to mark, if it is known.
    """
    path, number = source.file_of(equations, line) if line else "", line.rpartition(":")[2]
    if path and number.isdigit():
        return _cut(path, function_lines(path, int(number)), (int(number),))
    file, numbers = _place(fn if inspect.isroutine(fn) else vars(type(fn)).get("__call__"))
    return _cut(file, numbers, ())


def of_functions(*functions: Any) -> Listing | None:
    """Return the source of the first function that has one, with the others in its file if short.

    Args:
        *functions: Functions such as the factory of an optimizer; others have no source.
    """
    places = [place for each in functions if (place := _place(each))[1]]
    listing = _cut(*places[0], ()) if places else None
    for file, numbers in places[1:]:
        if listing is not None and file == places[0][0]:
            listing = _widened(listing, file, numbers)
    return listing


def with_class(listing: Listing | None, module: Any) -> Listing | None:
    """Extend a listing of a torch program to the class that contains it, if that is short."""
    if listing is None or not listing.file:
        return listing
    for kind in dict.fromkeys(map(type, module.modules())):
        file, numbers = _place(getattr(kind, "forward", None))
        if listing.file == source.short_name(file) and listing.start in numbers:
            return _widened(listing, file, class_lines(file, listing.start))
    return listing


def with_callees(listing: Listing | None, equations: Iterable[jex_core.JaxprEqn]) -> Listing | None:
    """Extend a listing of a port to its other functions in the same file, if that is short."""
    if listing is None or not listing.file:
        return listing
    places = {place for eqn in equations if (place := source.user_place(eqn)) is not None}
    for file, number in sorted(places):
        shown = range(listing.start, listing.start + len(listing.lines))
        if number not in shown and _is_of(listing, file):
            listing = _widened(listing, file, function_lines(file, number))
    return listing


def called_by_torch(
    module: Any, names: Sequence[str], shown: Listing | None
) -> tuple[Listing, ...]:
    """Return the functions of the user that a torch module calls, in the order of the calls.

    Args:
        module: The torch module, or None.
        names: The dotted paths of the submodules that ran.
        shown: A listing whose functions are left out.
    """
    if module is None:
        return ()
    modules = dict(module.named_modules(remove_duplicate=False))
    ran = [module, *(modules[name] for name in names if name in modules)]
    todo = [(type(x).forward, type(x)) for x in ran if hasattr(type(x), "forward")]
    found: dict[Any, None] = {}
    while todo:
        function, owner = todo.pop(0)
        if function in found or not source.is_program(_place(function)[0]):
            continue
        found[function] = None
        todo[:0] = [(each, owner) for each in _callees(function, owner)]
    return _listed([_place(function) for function in found], shown)


def called_by_jax(
    fn: Any, equations: Iterable[jex_core.JaxprEqn], shown: Listing | None
) -> tuple[Listing, ...]:
    """Return the functions of the user that the trace of a port passes through, in its order.

    Args:
        fn: The user's function or module.
        equations: The equations of the traced port.
        shown: A listing whose functions are left out.
    """
    entry = _place(fn if inspect.isroutine(fn) else vars(type(fn)).get("__call__"))
    frames = [place for eqn in equations for place in source.user_functions(eqn)]
    places = [(file, function_lines(file, n)) for file, n in dict.fromkeys(frames)]
    return _listed([entry, *places], shown)


def _callees(function: Any, owner: type) -> list[Any]:
    """Return the functions that the names in a function's code stand for, methods included.

    An attribute is that of an imported module, or else it may be a method of `owner`.
    """
    inner = inspect.unwrap(function)
    if getattr(inner, "__code__", None) is None:
        return []
    captured, found, last = _captured(inner), [], None
    for each in dis.get_instructions(inner):
        if each.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            last = inner.__globals__.get(each.argval)
        elif each.opname == "LOAD_DEREF":
            last = captured.get(each.argval)
        elif each.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            last = getattr(last if inspect.ismodule(last) else owner, each.argval, None)
        else:
            last = None
        called = last.forward if isinstance(last, type) and hasattr(last, "forward") else last
        found += [called] if inspect.isfunction(called) else []
    return found


def _captured(function: Any) -> dict[str, Any]:
    """Return the variables of the enclosing function that a function uses."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    captured = {}
    for name, cell in cells:
        with contextlib.suppress(ValueError):  # not assigned yet
            captured[name] = cell.cell_contents
    return captured


def _listed(places: Iterable[tuple[str, list[int]]], shown: Listing | None) -> tuple[Listing, ...]:
    """Return the functions at some places, without those that are shown or within another one."""
    found: list[tuple[str, Listing]] = []
    for file, numbers in places:
        if not numbers or not source.is_program(file):
            continue
        others = [x for path, x in found if path == file]
        if shown is not None and _is_of(shown, file):
            others.append(shown)
        if any(set(numbers) & set(range(x.start, x.start + len(x.lines))) for x in others):
            continue
        lines = tuple(linecache.getline(file, n).rstrip("\n") for n in numbers)
        if any(line.strip() for line in lines):
            found.append((file, Listing(source.short_name(file), numbers[0], lines)))
    return tuple(listing for _, listing in found)


def _is_of(listing: Listing, file: str) -> bool:
    """Return whether a listing shows lines of a file."""
    is_same = source.short_name(file) == listing.file
    return is_same and linecache.getline(file, listing.start).rstrip("\n") == listing.lines[0]


def _widened(listing: Listing, file: str, numbers: list[int]) -> Listing:
    """Return a listing with further lines of its file, or as it is if it would become long."""
    end = listing.start + len(listing.lines)
    numbers = list(range(min([listing.start, *numbers]), max([end, *(n + 1 for n in numbers)])))
    if len(numbers) > LINES:
        return listing
    lines = tuple(linecache.getline(file, n).rstrip("\n") for n in numbers)
    return dataclasses.replace(listing, start=numbers[0], lines=lines)


def _cut(file: str, numbers: list[int], marked: tuple[int, ...]) -> Listing | None:
    """Return at most `LINES` lines of a file, around the first marked one; None for no line."""
    if not any(linecache.getline(file, n).strip() for n in numbers):
        return None
    skipped = max(0, marked[0] - numbers[0] - LINES // 2) if len(numbers) > LINES and marked else 0
    numbers = numbers[skipped : skipped + LINES]
    lines = tuple(linecache.getline(file, n).rstrip("\n") for n in numbers)
    marked = tuple(n for n in marked if n in numbers)
    return Listing(source.short_name(file), numbers[0], lines, marked)


def _printed(module: Any, name: str) -> Listing | None:
    """Return the printed form of a module that torch wrote, with a submodule marked."""
    try:
        lines = str(module).splitlines()
    except Exception:  # the `__repr__` of a user's submodule
        return None
    path: list[str] = []
    paths: dict[int, str] = {}
    for number, text in enumerate(lines, start=1):
        if match := re.match(r"( *)\(([\w.]+)\): ", text):
            del path[len(match[1]) // 2 - 1 :]
            path.append(match[2])
            paths[number] = ".".join(path)
    inside = [n for n, path in paths.items() if f"{name}.".startswith(f"{path}.")]
    return Listing("", 1, tuple(lines[:LINES]), tuple(n for n in inside[-1:] if n <= LINES))


def _written(module: Any, name: str) -> tuple[Any, str]:
    """Return the innermost module on a path that torch did not write, and its child there."""
    names = dict(module.named_modules())
    parts = name.split(".") if name else []
    for count in range(len(parts), -1, -1):
        owner = names.get(".".join(parts[:count]))
        if owner is not None and not _is_torchs(type(owner)):
            return owner, parts[count] if count < len(parts) else ""
    return module, ""


def _is_torchs(kind: type) -> bool:
    return kind.__module__.partition(".")[0] == "torch"


def _place(function: Any) -> tuple[str, list[int]]:
    """Return the file of a function and the numbers of its lines; none if it cannot be read."""
    try:
        inner = inspect.unwrap(function)
        lines, start = inspect.getsourcelines(inner)
        return inspect.getsourcefile(inner) or "", list(range(start, start + len(lines)))
    except (OSError, TypeError, ValueError):  # no file; not a function; a cycle of wrappers
        return "", []
