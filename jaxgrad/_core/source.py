"""Find the source line of an equation, telling user code from JAX and from this package."""

from __future__ import annotations

import linecache
import pathlib
import sys
from collections.abc import Iterable
from typing import NamedTuple

import jax
from jax.extend import core as jex_core
from jax.extend import source_info_util

from jaxgrad._core.compat import JIT, open_jaxpr


# JAX then reports the user's source lines, not those of this package.
_OWN = str(pathlib.Path(__file__).parents[1])
source_info_util.register_exclusion(_OWN)


def short_name(path: str, *, folders: int = 0) -> str:
    """Return the name that reports print for a source file: `cell 3`, or its name and last folders.

    A notebook's kernel compiles each cell under the name of a temporary file, which says nothing to
    its author. IPython knows the number of the cell (`In[3]`) and prints it in tracebacks.
    """
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    label = getattr(getattr(shell, "compile", None), "format_code_name", None)
    named = label(path) if label is not None else None
    number = named[1].removeprefix("In[").removesuffix("]") if named else ""
    parts = pathlib.Path(path).parts[-1 - folders :]
    return f"cell {number}" if number.isdigit() else "/".join(parts)


def is_generated(path: str) -> bool:
    """Return whether the name of a source file marks generated code, such as `<string>`.

    IPython in a terminal names what the user types `<ipython-input-3-...>`.
    """
    return path[:1] == "<" and not path.startswith("<ipython-input-")


def source_line(eqn: jex_core.JaxprEqn) -> str:
    """Return `file:line (function)` of the user code that created `eqn`."""
    return source_info_util.summarize(eqn.source_info)


def is_written(eqn: jex_core.JaxprEqn) -> bool:
    """Return whether user code asked for a conversion (`astype`), as opposed to type promotion."""
    traceback = eqn.source_info.traceback
    names = {frame.function_name for frame in traceback.frames} if traceback is not None else set()
    return bool(names & {"astype", "asarray", "convert_element_type"})


def short_line(eqn: jex_core.JaxprEqn) -> str:
    """Return `source_line` without folder, column and function.

    A line of a framework is named with its package, as in `flax/nnx/nn/normalization.py:180`.
    """
    folder, slash, place = source_line(eqn).partition(" (")[0].rpartition("/")
    file, _, rest = place.partition(":")
    if not file:
        return "(no line)"
    path = folder + slash + file
    name = path.rpartition("site-packages/")[2] if _is_framework(path) else short_name(path)
    return f"{name}:{rest.partition(':')[0]}"


def column(eqn: jex_core.JaxprEqn) -> int | None:
    """Return the column at which the expression that created `eqn` starts, None if unknown."""
    text = source_line(eqn).partition(" (")[0].rpartition(":")[2]
    return int(text) if text.isdigit() else None


_JAX = str(pathlib.Path(jax.__file__).parent)
_PROVING = str(pathlib.Path(_OWN, "parity"))  # it runs the user's programs and adds no operations
_DECORATORS = 8  # lines that the decorators of a function may take
_STDLIB = str(pathlib.Path(pathlib.__file__).parent)
_FRAMEWORKS = ("jax", "jaxlib", "flax", "equinox", "haiku", "optax", "chex", "jaxtyping", "numpy")


def _is_framework(path: str) -> bool:
    package = path.rpartition("site-packages/")[2].partition("/")[0]
    return "site-packages/" in path and package in _FRAMEWORKS


def user_line(eqn: jex_core.JaxprEqn, *, inlined: bool = False) -> str:
    """Return `file:line` of the innermost frame of `eqn` outside the frameworks, or "".

    The body of a jitted JAX function (`jnp.where`) is traced only once, at its first call, so its
    frames are those of that call: the caller should then use the line of the enclosing equation.
    If the function is `inlined` (`jnp.abs`), the frames are those of the current call.
    """
    for path, line, _ in _frames(eqn):
        if path.endswith("/pjit.py") and eqn.primitive.name not in JIT and not inlined:
            return ""
        if _is_users(path):
            return f"{short_name(path)}:{line}"
    return ""


def user_lines(eqn: jex_core.JaxprEqn) -> list[str]:
    """Return `file:line` of every user frame recorded for `eqn`, innermost first."""
    frames = _frames(eqn)
    return [f"{short_name(path)}:{line}" for path, line, _ in frames if _is_users(path)]


def user_place(eqn: jex_core.JaxprEqn) -> tuple[str, int] | None:
    """Return the path and the line of the innermost user frame of `eqn`, or None."""
    frames = ((path, line) for path, line, _ in _frames(eqn) if _is_users(path))
    return next(frames, None)


def is_program(path: str) -> bool:
    """Return whether a source file is the user's own, not of an installed package or generated."""
    return bool(path) and _is_users(path) and "site-packages/" not in path


def user_functions(eqn: jex_core.JaxprEqn) -> list[tuple[str, int]]:
    """Return the path and line of each frame of the user's program, outermost first.

    The frames of the code that called `prove` are not the program's. A body that JAX traced before
    the proof has no frame of `prove`: only its innermost frame surely belongs to the program.
    """
    places: list[tuple[str, int]] = []
    for path, line, name in _frames(eqn):
        if path.startswith(_PROVING):
            return places[::-1]
        if _is_users(path) and name != "<module>":
            places.append((path, line))
    return places[:1]


def is_called_by_user(eqn: jex_core.JaxprEqn, *, through_jaxgrad: bool = True) -> bool:
    """Return whether the user's code itself calls the function that made `eqn`, not a library.

    Args:
        eqn: The equation.
        through_jaxgrad: Whether that may be a function of jaxgrad, which calls JAX in turn.
    """
    between = (_JAX, _OWN, _STDLIB) if through_jaxgrad else (_JAX, _STDLIB)
    around = (path for path, _, _ in _frames(eqn) if not path.startswith(between))
    return _is_users(next(around, _OWN))


class Span(NamedTuple):
    """The expression of the user's code that created an equation; columns are 0-based."""

    path: str
    line: int
    column: int
    end_line: int
    end_column: int


def user_span(eqn: jex_core.JaxprEqn) -> Span | None:
    """Return the expression in the innermost user frame of `eqn`, or None if it is unknown."""
    return next(iter(user_spans(eqn)), None)


def user_spans(eqn: jex_core.JaxprEqn) -> list[Span | None]:
    """Return the expression in each user frame of `eqn`, as `user_lines`; None if it is unknown."""
    traceback = eqn.source_info.traceback
    if traceback is None or not hasattr(traceback, "code_addr2location"):
        return []
    spans = [
        Span(code.co_filename, *type(traceback).code_addr2location(code, address))
        for code, address in zip(*traceback.raw_frames(), strict=True)
        if _is_users(code.co_filename)
    ]
    return [None if None in span else span for span in spans]


def file_of(eqns: Iterable[jex_core.JaxprEqn], line: str) -> str:
    """Return the path of the file in `file:line`, if an equation was recorded there, or ""."""
    for eqn in eqns:
        for path, number, _ in _frames(eqn):
            if f"{short_name(path)}:{number}" == line:
                return path
    return ""


def own_name(eqn: jex_core.JaxprEqn) -> str:
    """Return the name of the JAX function inside a `jit` or custom rule, such as `clip`, or ""."""
    return _inner_function(eqn, _JAX)


def own_operator(eqn: jex_core.JaxprEqn) -> str:
    """Return the name of the kernel of `jaxgrad.functional` whose rule an equation has, or ""."""
    return _inner_function(eqn, _OWN)


def _inner_function(eqn: jex_core.JaxprEqn, folder: str) -> str:
    """Return the name of the function inside an equation if it is defined in a folder, else ""."""
    inner = open_jaxpr(eqn.params.get("jaxpr", eqn.params.get("call_jaxpr")))[0]
    info = getattr(inner, "debug_info", None)
    if info is None or not (info.func_filename or "").startswith(folder):
        return ""
    return info.func_name


def body_line(eqn: jex_core.JaxprEqn) -> str:
    """Return `file:line` of the user's function inside an equation, or else its `short_line`.

    A `shard_map` that is called by this package has no other line of the user.
    """
    inner = open_jaxpr(eqn.params.get("jaxpr", eqn.params.get("call_jaxpr")))[0]
    info = getattr(inner, "debug_info", None)
    if info is None or not info.func_filename or not _is_users(info.func_filename):
        return short_line(eqn)
    return f"{short_name(info.func_filename)}:{info.func_lineno}"


class Rule(NamedTuple):
    """The user's function that has the derivative of a custom rule."""

    path: str
    line: int
    name: str


def rule_of(eqn: jex_core.JaxprEqn) -> Rule | None:
    """Return the derivative of a `custom_vjp` or `custom_jvp`, if the user's code defines it."""
    rule = eqn.params.get("bwd") or eqn.params.get("jvp_jaxpr_fun")
    info = getattr(rule, "debug_info", None)
    path, line = getattr(info, "func_filename", None), getattr(info, "func_lineno", None)
    if info is None or not path or not line or not _is_users(path):
        return None
    name = info.func_name if info.func_name.isidentifier() else "rule"  # not a lambda
    return Rule(path, defined_at(path, line), name)


def defined_at(path: str, line: int) -> int:
    """Return the line of a `def`, given the line of its code object, which may be a decorator's."""
    lines = [linecache.getline(path, line + n).strip() for n in range(_DECORATORS)]
    defs = [n for n, text in enumerate(lines) if text.startswith("def ")]
    return line + defs[0] if defs and lines[0].startswith("@") else line


def is_own(eqn: jex_core.JaxprEqn) -> bool:
    """Return whether this package created `eqn`, rather than user code that this package called."""
    for path, _, _ in _frames(eqn):
        if path.startswith(_OWN):
            return not path.startswith(_PROVING)
        if _is_users(path):
            return False
    return False


def callers(eqn: jex_core.JaxprEqn) -> set[str]:
    """Return the names of the functions on the stack between an equation and the user's line."""
    names: set[str] = set()
    for path, _, name in _frames(eqn):
        if _is_users(path):
            break
        names.add(name.rpartition(".")[2])
    return names


def _frames(eqn: jex_core.JaxprEqn) -> list[tuple[str, int, str]]:
    traceback = eqn.source_info.traceback
    frames = traceback.frames if traceback is not None else ()
    return [(f.file_name, f.line_num, f.function_name) for f in frames]


def _is_users(path: str) -> bool:
    is_own = path.startswith((_OWN, _STDLIB))
    return not (is_own or is_generated(path) or _is_framework(path))
