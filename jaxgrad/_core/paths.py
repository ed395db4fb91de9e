"""The path of a leaf as text, `encoder/0/bias`: the one form that users give and read.

A path joins the keys of the tree with "/". A flax `nnx.Variable` holds its array under a key of its
own, `value`, which is left out, so that an `nnx.State` has the paths of its pure dict.
"""

from __future__ import annotations

import difflib
import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import jax


SYNTAX = "A path joins the keys of a leaf with '/', as in 'encoder/0/bias'"
_SHOWN = 4  # paths in an error message
_MARKS = "./*?[]'\""  # what surrounds a word in globs and in tests such as startswith("head.")


def text(keys: Sequence[Any]) -> str:
    """Return a key path as text, including the keys inside an `nnx.Variable`."""
    return jax.tree_util.keystr(tuple(keys), simple=True, separator="/")


def named(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[tuple[str, Any]]:
    """Return the leaves of a tree with their paths; the path of a tree that is a leaf is ""."""
    return [(path, leaf) for path, _, leaf in _walk(tree, is_leaf)]


def by_keys(tree: Any) -> dict[Any, str]:
    """Return the path of each leaf by its key path in `jax.tree_util`."""
    return {keys: path for path, keys, _ in _walk(tree, None)}


def map_named(
    fun: Callable[..., Any], tree: Any, *rest: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """Map `fun(path, *leaves)` over trees, as `jax.tree.map` does without the path."""
    treedef = jax.tree.structure(tree, is_leaf=is_leaf)
    others = [treedef.flatten_up_to(other) for other in rest]
    columns = zip(named(tree, is_leaf), *others, strict=True)
    return treedef.unflatten([fun(path, leaf, *more) for (path, leaf), *more in columns])


def of_argument(number: int, path: str) -> str:
    """Describe a leaf of a function's argument, for an error message."""
    return f"{path!r} of argument {number}" if path else f"argument {number}"


def nearest(paths: Sequence[str], words: Iterable[str] = (), kind: str = "paths") -> str:
    """Return a sentence with the paths that resemble `words` most, for an error message.

    >>> print(nearest(["a/bias", "a/kernel", "b/bias", "b/kernel", "c"], ["*/kernal"]))
    The nearest paths are 'a/kernel', 'b/kernel', 'a/bias' and 'b/bias', of 5
    """
    wanted = [w for word in words if len(w := word.strip(_MARKS).replace(".", "/")) > 1]
    if len(paths) <= _SHOWN or not wanted:
        more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
        return f"The {kind} are {', '.join(map(repr, paths[:_SHOWN]))}{more}"
    scores = {path: max(_likeness(word, path) for word in wanted) for path in paths}
    *first, last = sorted(paths, key=lambda path: -scores[path])[:_SHOWN]
    listed = f"{', '.join(map(repr, first))} and {last!r}"
    return f"The nearest {kind} are {listed}, of {len(paths)}"


def no_match(what: str, paths: Sequence[str], words: Iterable[str] = ()) -> str:
    """Return the error message for a predicate, glob or label that no leaf matches."""
    return f"{what} matches no leaf. {nearest(paths, words)}. {SYNTAX}"


def words_of(fun: Callable[..., Any]) -> list[str]:
    """Return the strings in a function's code, with which a predicate compares paths."""
    if isinstance(fun, functools.partial):
        return [*_strings([*fun.args, *fun.keywords.values()]), *words_of(fun.func)]
    code = getattr(fun, "__code__", None)
    if code is None:
        return []
    cells = [cell.cell_contents for cell in fun.__closure__ or () if _is_filled(cell)]
    words = _strings([*code.co_consts, *cells])
    return [word for word in dict.fromkeys(words) if word != fun.__doc__]


def _walk(
    tree: Any, is_leaf: Callable[[Any], bool] | None
) -> list[tuple[str, tuple[Any, ...], Any]]:
    """Return the path as text, the key path and the leaf, for each leaf."""

    variable = getattr(sys.modules.get("flax.nnx"), "Variable", ())  # its only key is `value`

    def is_given(x: Any) -> bool:
        return is_leaf is not None and is_leaf(x)

    def stops(x: Any) -> bool:
        return isinstance(x, variable) or is_given(x)

    out = []
    for keys, node in jax.tree_util.tree_leaves_with_path(tree, is_leaf=stops):
        if not isinstance(node, variable) or is_given(node):
            out.append((text(keys), keys, node))
            continue
        for inner, leaf in jax.tree_util.tree_leaves_with_path(node, is_leaf=is_leaf):
            rest = inner[1:] if isinstance(inner[0], jax.tree_util.GetAttrKey) else inner
            out.append((text((*keys, *rest)), (*keys, *inner), leaf))
    return out


def _likeness(word: str, path: str) -> float:
    """Score the likeness of a word and a path, or a part of the path: 1 if they are equal."""
    keys, count = path.split("/"), len(word.split("/"))
    parts = ["/".join(keys[i : i + count]) for i in range(max(len(keys) - count, 0) + 1)]
    return max(difflib.SequenceMatcher(None, word, part).ratio() for part in (path, *parts))


def _strings(values: Iterable[Any]) -> list[str]:
    """Return the strings among some values, in their collections, and in nested code."""
    out: list[str] = []
    for value in values:
        if isinstance(value, str):
            out.append(value)
        elif isinstance(value, tuple | list | set | frozenset | Mapping):
            out += _strings(value)
        elif hasattr(value, "co_consts"):
            out += _strings(value.co_consts)
    return out


def _is_filled(cell: Any) -> bool:
    """Whether a variable of an enclosing function has a value."""
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
