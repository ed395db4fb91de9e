"""The ways a person hands over a JAX model, each made a function of a tree of arrays."""

from __future__ import annotations

import contextlib
import fnmatch
import importlib.metadata
import inspect
import pathlib
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np


class ProofError(Exception):
    """Nothing can be proved: what is wrong, and what to do."""


class Given(NamedTuple):
    """`fn(params, *inputs)`."""

    fn: Callable[..., Any]
    params: Any


def normalise(fn: Any, params: Any) -> Given:
    """A plain function and a tree, of whatever was given."""
    if isinstance(fn, tuple) and len(fn) == 2 and params is None:
        return _single(*fn)
    return _single(fn, params)


def _single(fn: Any, params: Any) -> Given:
    if _is(fn, "flax.linen", "Module"):
        return Given(fn.apply, params)
    if _is(fn, "flax.nnx", "Module") and params is None:
        return _nnx(lambda module, *args, **kwargs: module(*args, **kwargs), fn)
    if _is(params, "flax.nnx", "Module"):
        return _nnx(fn, params)
    if _is(fn, "equinox", "Module") and params is None:
        return Given(lambda module, *args, **kwargs: module(*args, **kwargs), fn)
    if not callable(fn):
        raise ProofError(
            f"fn is {type(fn).__name__}, which is not callable: give fn(params, *inputs), or a "
            "flax nnx, linen or equinox module"
        )
    if _is(params, "flax.nnx", "State"):
        return Given(lambda tree, *a, **k: fn(_restate(params, tree), *a, **k), _arrays(params))
    return Given(fn, params)


def _nnx(fn: Callable[..., Any], module: Any) -> Given:
    from flax import nnx

    graph, state = nnx.split(module)

    def run(tree: Any, *args: Any, **kwargs: Any) -> Any:
        return fn(nnx.merge(graph, _restate(state, tree)), *args, **kwargs)

    return Given(run, _arrays(state))


def _arrays(state: Any) -> Any:
    from flax import nnx

    return nnx.to_pure_dict(state)


def _restate(state: Any, tree: Any) -> Any:
    from flax import nnx

    made = jax.tree.map(lambda x: x, state)
    nnx.replace_by_pure_dict(made, tree)
    return made


def _is(x: Any, module: str, name: str) -> bool:
    """Whether `x` is of a class of a library, without importing the library."""
    package = sys.modules.get(module)
    return package is not None and isinstance(x, getattr(package, name))


def trains(trainable: Any, paths: list[str], params: Any) -> list[bool] | None:
    """Which leaves train, as the user said it; None where they did not."""
    if trainable is None:
        return None
    if callable(trainable):
        return [bool(trainable(path)) for path in paths]
    if isinstance(trainable, str):
        trainable = [trainable]
    if isinstance(trainable, list | tuple | set) and all(isinstance(x, str) for x in trainable):
        unknown = [x for x in trainable if not any(fnmatch.fnmatch(p, x) for p in paths)]
        if unknown:
            raise ProofError(f"trainable= names {unknown[0]!r}, which no leaf matches: {paths}")
        return [any(fnmatch.fnmatch(path, x) for x in trainable) for path in paths]
    kept = [
        (jax.tree_util.keystr(p, simple=True, separator="/"), x)
        for p, x in jax.tree_util.tree_leaves_with_path(trainable)
    ]
    flags = dict(kept)
    del params
    missing = [path for path in paths if path not in flags]
    if missing:
        raise ProofError(f"trainable= says nothing about {missing[0]!r}: give a bool a leaf")
    return [bool(flags[path]) for path in paths]


def name_of(fn: Any) -> str:
    """What to call the JAX side: a function's name and file, a module's class."""
    inner = inspect.unwrap(fn) if callable(fn) else fn
    code = getattr(inner, "__code__", None)
    if code is not None:
        name = getattr(inner, "__qualname__", "fn").rpartition(".")[2]
        return f"{name} ({pathlib.Path(code.co_filename).name}:{code.co_firstlineno})"
    return type(fn).__name__


def versions() -> dict[str, str]:
    """Of what took part."""
    found = {"python": sys.version.split()[0], "numpy": np.__version__, "jax": jax.__version__}
    for name in ("torch", "flax", "equinox", "optax"):
        if name in sys.modules:
            found[name] = importlib.metadata.version(name)
    return found


@contextlib.contextmanager
def scene() -> Iterator[None]:
    """float64, on the CPU, whatever the user's own settings are."""
    with (
        jax.enable_x64(True),
        jax.default_device(jax.local_devices(backend="cpu")[0]),
        jax.default_matmul_precision("highest"),
        np.errstate(all="ignore"),
    ):
        yield
