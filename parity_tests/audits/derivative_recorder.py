"""Record the functions that a JAX program differentiates while it runs, and their arguments."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from unittest import mock

import jax
from jax.core import Tracer

import jaxgrad


class Call(NamedTuple):
    """A differentiated function, with the arguments and options of the call."""

    fun: Callable[..., Any]
    args: tuple[Any, ...]
    options: dict[str, Any]


@contextlib.contextmanager
def derivatives_watched(calls: list[Call]) -> Iterator[None]:
    """Record each function that is differentiated at concrete values (not at tracers)."""
    depth = [0]

    def note(run: Callable[[], Any], fun: Any, args: Any, options: Any) -> Any:
        """Run and record a derivative, without recording derivatives that are taken inside it."""
        if not depth[0] and not any(isinstance(x, Tracer) for x in jax.tree.leaves(args)):
            calls.append(Call(fun, args, options))
        depth[0] += 1
        try:
            return run()
        finally:
            depth[0] -= 1

    def gradient(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def recorded(fun: Any, argnums: Any = 0, has_aux: bool = False, **options: Any) -> Any:
            wanted = original(fun, argnums, has_aux, **options)
            noted = {"argnums": argnums, "has_aux": has_aux}
            return functools.wraps(wanted)(
                lambda *args: note(lambda: wanted(*args), fun, args, noted)
            )

        return recorded

    def vjp(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def recorded(fun: Any, *primals: Any, has_aux: bool = False, **options: Any) -> Any:
            argnums = tuple(range(len(primals))) if len(primals) > 1 else 0
            noted = {"argnums": argnums, "has_aux": has_aux}
            run = functools.partial(original, fun, *primals, has_aux=has_aux, **options)
            return note(run, fun, primals, noted)

        return recorded

    with contextlib.ExitStack() as stack:
        for module, name, watched in (
            (jaxgrad, "value_and_grad", gradient),
            (jaxgrad, "grad", gradient),
            (jaxgrad, "value_and_retained_grads", gradient),
            (jax, "value_and_grad", gradient),
            (jax, "grad", gradient),
            (jax, "vjp", vjp),
        ):
            new = watched(getattr(module, name))
            stack.enter_context(mock.patch.object(module, name, new))
        yield


def leaf_names(call: Call) -> dict[int, tuple[str, Any]]:
    """Return the names of the arrays that a call differentiates with respect to, by array id.

    Graphs of other calls use these names for the arrays that they treat as constants.
    """
    argnums = call.options["argnums"]
    chosen = [call.args[n] for n in ((argnums,) if isinstance(argnums, int) else argnums)]
    paths = [pair for tree in chosen for pair in jax.tree_util.tree_leaves_with_path(tree)]
    names = [(jax.tree_util.keystr(path, simple=True, separator="."), x) for path, x in paths]
    return {id(x): (name, x) for name, x in names if name}
