"""The grid's programs as they were compiled: what did not change is neither traced nor compiled.

A file an operator, in the cache folder. It holds for one state of the sources, of the versions and
of the machine; where the program is the same after an edit, only tracing is done again.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import os
import pathlib
import pickle
import platform
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import serialize_executable

from parity_tests.audits.mutants import VARIABLE
from parity_tests.runner.settings import ROOT


Program = Callable[[Any], Any]


class Stored(NamedTuple):
    """What a file holds."""

    key: str  # of what the program is made from
    text: str  # of the program itself, in StableHLO
    executable: bytes
    raised: dict[int, Any]


def compiled(
    program: Program, inputs: Any, options: dict[str, Any], key: str, path: pathlib.Path,
    raised: dict[int, Any],
) -> Program:  # fmt: skip
    """The program compiled for these inputs, from the file if it is there.

    Args:
      program: Is traced only if it has to be.
      inputs: Its argument.
      options: The compiler's.
      key: From `key`.
      path: The file.
      raised: Is filled by tracing, and kept with the program.
    """
    keeps = VARIABLE not in os.environ  # a mutant changes no file
    old = _read(path) if keeps else None
    if old and old.key == key:
        with contextlib.suppress(Exception):  # of another version, or broken: made again
            run = _loaded(old.executable)
            raised.update(old.raised)
            return run
    lowered = jax.jit(program, compiler_options=options).lower(inputs)
    # The same program of another compiler, or of another machine, is another executable.
    text = _digest(_machine(), options, lowered.as_text())
    if old and old.text == text:
        executable, run = old.executable, _loaded(old.executable)
    else:
        with _no_other_cache():
            run: Any = lowered.compile()
        executable = zlib.compress(pickle.dumps(serialize_executable.serialize(run)), 1)
    if keeps:
        _write(path, Stored(key, text, executable, raised))
    return run


def file(name: str) -> pathlib.Path:
    """Where an operator's program lies."""
    cache = os.environ.get("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".cache" / "jax"))
    return pathlib.Path(f"{cache}-operators", f"{name}.bin")


def key(funs: Sequence[Callable[..., Any]], labels: Sequence[str], inputs: Any) -> str:
    """Everything that a program is made from: another key, another program."""
    # A test may swap a function. A ufunc has no name of this kind.
    names = [(fun.__module__, getattr(fun, "__qualname__", repr(fun))) for fun in funs]
    shapes = [f"{x.dtype}{x.shape}" for x in jax.tree.leaves(inputs)]
    return _digest(_sources(), _machine(), names, labels, shapes)


@functools.cache
def _sources() -> str:
    paths = (
        path
        for folder in ("jaxgrad", "parity_tests/operators")
        for path in sorted((ROOT / folder).rglob("*.py"))
    )
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def _machine() -> tuple[Any, ...]:
    """The versions and the machine."""
    versions = [importlib.metadata.version(name) for name in ("jax", "jaxlib", "numpy")]
    return versions, platform.node(), os.environ.get("XLA_FLAGS")


def _digest(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@functools.cache
def _with_lapack() -> None:
    """Lowering a call of LAPACK is what loads it; a stored program that calls it would crash."""
    jax.jit(jnp.linalg.inv).lower(np.eye(2))


def _loaded(executable: bytes) -> Any:
    _with_lapack()
    parts = pickle.loads(zlib.decompress(executable))
    return serialize_executable.deserialize_and_load(*parts, execution_devices=jax.devices()[:1])


def _read(path: pathlib.Path) -> Stored | None:
    try:
        return Stored(*pickle.loads(path.read_bytes()))
    except Exception:  # not there, of another version, or broken
        return None


def _write(path: pathlib.Path, stored: Stored) -> None:
    """Whole or not at all, beside other workers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_bytes(pickle.dumps(tuple(stored)))
    part.replace(path)


@contextlib.contextmanager
def _no_other_cache() -> Iterator[None]:
    """JAX's own cache is not written: what it gives back cannot be serialized again."""
    name = "jax_persistent_cache_min_compile_time_secs"
    before = getattr(jax.config, name)
    jax.config.update(name, float("inf"))
    try:
        yield
    finally:
        jax.config.update(name, before)
