"""Store compiled programs on disk, so that an unchanged operator is neither traced nor compiled.

Each operator has one file in the cache folder, which becomes invalid when the sources, the versions
or the machine change. If an edit leaves the program unchanged, only tracing is repeated.
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
    """The content of a stored file."""

    key: str  # a digest of everything that the program depends on
    text: str  # a digest of the program itself, in StableHLO
    executable: bytes
    raised: dict[int, Any]


def compiled(
    program: Program, inputs: Any, options: dict[str, Any], key: str, path: pathlib.Path,
    raised: dict[int, Any],
) -> Program:  # fmt: skip
    """Return the program compiled for the inputs, from the file if that is valid.

    Args:
        program: The function to compile; it is traced only if the file is not valid.
        inputs: The argument of the program.
        options: The compiler's options.
        key: The digest returned by `key`.
        path: The operator's file.
        raised: Exceptions by job; tracing records them, and the file stores them.
    """
    keeps = VARIABLE not in os.environ  # a mutant is not visible in the files' digest
    old = _read(path) if keeps else None
    if old and old.key == key:
        with contextlib.suppress(
            Exception
        ):  # a broken file, or one of another version, is written again
            run = _loaded(old.executable)
            raised.update(old.raised)
            return run
    lowered = jax.jit(program, compiler_options=options).lower(inputs)
    # A program's executable depends on the machine and on the compiler.
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
    """Return the path of the file that stores an operator's program."""
    cache = os.environ.get("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".cache" / "jax"))
    return pathlib.Path(f"{cache}-operators", f"{name}.bin")


def key(funs: Sequence[Callable[..., Any]], labels: Sequence[str], inputs: Any) -> str:
    """Return a digest of everything that a program depends on."""
    # Names are included because a test may replace a function. A ufunc has no `__qualname__`.
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
    """Return the versions, the machine and XLA's flags."""
    versions = [importlib.metadata.version(name) for name in ("jax", "jaxlib", "numpy")]
    return versions, platform.node(), os.environ.get("XLA_FLAGS")


def _digest(*parts: Any) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


@functools.cache
def _with_lapack() -> None:
    """Load LAPACK by lowering a call; otherwise a stored program that calls it would crash."""
    jax.jit(jnp.linalg.inv).lower(np.eye(2))


def _loaded(executable: bytes) -> Any:
    _with_lapack()
    parts = pickle.loads(zlib.decompress(executable))
    return serialize_executable.deserialize_and_load(*parts, execution_devices=jax.devices()[:1])


def _read(path: pathlib.Path) -> Stored | None:
    try:
        return Stored(*pickle.loads(path.read_bytes()))
    except Exception:  # missing, broken, or of another version
        return None


def _write(path: pathlib.Path, stored: Stored) -> None:
    """Write the file atomically, so that other workers never read a part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_bytes(pickle.dumps(tuple(stored)))
    part.replace(path)


@contextlib.contextmanager
def _no_other_cache() -> Iterator[None]:
    """Disable JAX's own cache, whose executables cannot be serialized again."""
    name = "jax_persistent_cache_min_compile_time_secs"
    before = getattr(jax.config, name)
    jax.config.update(name, float("inf"))
    try:
        yield
    finally:
        jax.config.update(name, before)
