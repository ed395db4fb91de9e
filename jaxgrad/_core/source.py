"""Where an equation comes from: the user's lines, and JAX's and this package's own frames."""

from __future__ import annotations

import pathlib

import jax
from jax.extend import core as jex_core
from jax.extend import source_info_util

from jaxgrad._core.compat import JIT, open_jaxpr


# Source lines are the user's, not those of this package.
_OWN = str(pathlib.Path(__file__).parents[1])
source_info_util.register_exclusion(_OWN)


def source_line(eqn: jex_core.JaxprEqn) -> str:
    """`file:line (function)` of the user's line that made `eqn`."""
    return source_info_util.summarize(eqn.source_info)


def is_written(eqn: jex_core.JaxprEqn) -> bool:
    """Whether a program asks for this conversion (`astype`); else JAX promoted by itself."""
    traceback = eqn.source_info.traceback
    names = {frame.function_name for frame in traceback.frames} if traceback is not None else set()
    return bool(names & {"astype", "asarray", "convert_element_type"})


def short_line(eqn: jex_core.JaxprEqn) -> str:
    """`source_line` without folders, column and function."""
    path, _, rest = source_line(eqn).partition(" (")[0].rpartition("/")[2].partition(":")
    return f"{path}:{rest.partition(':')[0]}" if path else "(no line)"


_JAX = str(pathlib.Path(jax.__file__).parent)
_PROVING = str(pathlib.Path(_OWN, "parity"))  # it runs programs, and is none
_STDLIB = str(pathlib.Path(pathlib.__file__).parent)
_FRAMEWORKS = ("jax", "jaxlib", "flax", "equinox", "haiku", "optax", "chex", "jaxtyping", "numpy")


def _is_framework(path: str) -> bool:
    package = path.rpartition("site-packages/")[2].partition("/")[0]
    return "site-packages/" in path and package in _FRAMEWORKS


def user_line(eqn: jex_core.JaxprEqn, *, inlined: bool = False) -> str:
    """`file:line` of the innermost frame outside of the frameworks that made `eqn`, or "".

    A model may be an installed package itself; what it calls of JAX's libraries is not its line.

    What a jitted function of JAX's own (`jnp.where`) holds was traced once, wherever it was first
    called: its frames end at that `jit`, and the line is that of the equation around it. Not so
    where it was `inlined` (`jnp.abs`): then the frames are those of this call.
    """
    for path, line, _ in _frames(eqn):
        if path.endswith("/pjit.py") and eqn.primitive.name not in JIT and not inlined:
            return ""
        if _is_users(path):
            return f"{pathlib.Path(path).name}:{line}"
    return ""


def user_lines(eqn: jex_core.JaxprEqn) -> list[str]:
    """Every `file:line` of the user's on the way to `eqn`, as remembered, the innermost first."""
    frames = _frames(eqn)
    return [f"{pathlib.Path(path).name}:{line}" for path, line, _ in frames if _is_users(path)]


def own_name(eqn: jex_core.JaxprEqn) -> str:
    """The name of JAX's own function that a `jit` or a custom rule holds (`clip`), or ""."""
    inner = open_jaxpr(eqn.params.get("jaxpr", eqn.params.get("call_jaxpr")))[0]
    made = getattr(inner, "debug_info", None)
    if made is None or not (made.func_filename or "").startswith(_JAX):
        return ""
    return made.func_name


def is_own(eqn: jex_core.JaxprEqn) -> bool:
    """Whether a function of this package made `eqn` (not one that only called the user's)."""
    for path, _, _ in _frames(eqn):
        if path.startswith(_OWN):
            return not path.startswith(_PROVING)
        if _is_users(path):
            return False
    return False


def callers(eqn: jex_core.JaxprEqn) -> set[str]:
    """The functions between an equation and the user's line."""
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
    return not path.startswith((_OWN, _STDLIB)) and path[:1] != "<" and not _is_framework(path)
