"""Find planted bugs and correct configurations of the ports, and run `prove` on them."""

import concurrent.futures
import fnmatch
import importlib
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import jax
from flax import nnx

from jaxgrad.parity import Report, prove
from parity_tests.ports.bug import Bug
from parity_tests.runner.settings import ROOT, configure


FOLDER = ROOT / "parity_tests" / "ports"
WRAPS = {"eager": lambda fn: fn, "jit": jax.jit, "remat": jax.checkpoint}
NNX_WRAPS = {"jit": nnx.jit, "remat": nnx.remat}
Result = TypeVar("Result")


def names() -> list[str]:
    return sorted(p.stem for p in FOLDER.glob("[a-z]*.py") if p.stem != "bug")


def load(name: str) -> Any:
    return importlib.import_module(f"parity_tests.ports.{name}")


def prove_pair(pair: dict[str, Any], wrap: str = "eager", seed: int = 0) -> Report:
    """Run `prove` on the arguments that a port's `pair` returns, without its `converter`."""
    options = {name: value for name, value in pair.items() if name != "converter"}
    module, fn, params, inputs = (options.pop(k) for k in ("module", "fn", "params", "inputs"))
    fn, params = wrapped(fn, params, wrap)
    return prove(module, fn, params, inputs, seed=seed, **options)


def wrapped(fn: Any, params: Any, wrap: str) -> tuple[Any, Any]:
    """Return a function under a transformation; that of a module is nnx's."""
    if wrap == "eager":
        return fn, params
    if isinstance(fn, nnx.Module):
        return NNX_WRAPS[wrap](lambda module, *inputs: module(*inputs)), fn
    return WRAPS[wrap](fn), params


def matches(reported: str, *places: str) -> bool:
    """Return whether a reported name is one of a bug's modules or parameters, or inside it.

    The root module has the empty name, which matches itself alone.
    """
    if "" in places and reported in ("", "(root)"):
        return True
    globs = (p for where in places if where for p in (where, f"{where}.*", f"{where}*"))
    return any(fnmatch.fnmatch(reported, p) for p in globs)


def bugs(patterns: Sequence[str] = ()) -> list[tuple[str, Bug]]:
    """Return every bug of every port whose `port/bug` matches a pattern."""
    return [
        (name, bug)
        for name in names()
        for bug in load(name).BUGS
        if not patterns or any(fnmatch.fnmatch(f"{name}/{bug.name}", f"*{p}*") for p in patterns)
    ]


def each(
    function: Callable[..., Result], tasks: Sequence[tuple[Any, ...]], workers: int
) -> Iterator[Result]:
    """Yield a function's result for each tuple of arguments, computed by several processes."""
    if workers == 1:
        yield from (function(*task) for task in tasks)
        return
    context = multiprocessing.get_context("spawn")
    pool = concurrent.futures.ProcessPoolExecutor(workers, context, configure)
    with pool:
        yield from pool.map(function, *zip(*tasks, strict=True))
