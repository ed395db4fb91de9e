"""Write a Python function of the epoch, such as that of LambdaLR, as a function that JAX traces."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.source.source import source_of
from jaxgrad.parity.port.training.schedule_bodies import body_of, plain
from jaxgrad.parity.port.training.schedule_expressions import written


POINTS = (*range(40), 99, 100, 101, 500, 999, 1000, 1001, 5000)  # where both are compared


def write_function(
    function: Callable[..., Any], label: str, points: tuple[float, ...] = POINTS
) -> ast.FunctionDef | ast.Lambda:
    """Return the code of a function of one number for JAX to trace; a short lambda stays one.

    What the function reads from outside, such as the number of warm-up steps, is folded. The code
    is compared with the function at some points.

    Args:
        function: A function, a method, a `functools.partial`, or an object that can be called.
        label: The name of the new function.
        points: Arguments for the comparison.

    Raises:
        PortError: The function has no source, has a statement without a counterpart, or the code
            has other values.
    """
    inner, held = plain(function)
    epoch = next((name for name in inspect.signature(inner).parameters if name not in held), None)
    if epoch is None:
        raise PortError(f"{label} takes no argument; it needs one, the epoch")
    statements: list[ast.stmt] = []
    body = body_of(function, [syntax.name(epoch)], {}, statements, {epoch})
    body.names[epoch] = epoch
    result = written(body.result())
    node = syntax.function(label, [epoch], [*statements, ast.Return(result)])
    _compare(function, node, points, label)
    if isinstance(source_of(inner).node, ast.Lambda) and not statements:
        return ast.Lambda(node.args, result)
    return node


def _compare(
    function: Callable[..., Any], node: ast.FunctionDef, points: tuple[float, ...], label: str
) -> None:
    wanted: list[float] = []
    for point in points:
        try:
            wanted.append(float(function(point)))
        except Exception:  # the user's function ends here
            break
    space: dict[str, Any] = {"jnp": jnp, "jax": jax}
    exec(syntax.text(node), space)
    with jax.enable_x64(True):
        traced = jax.jit(jax.vmap(space[label]))(np.asarray(points[: len(wanted)]))
        found = np.broadcast_to(np.asarray(traced), len(wanted))
    wrong = [n for n, x in enumerate(wanted) if not np.allclose(found[n], x, 1e-9, 1e-12)]
    if wrong:
        at = wrong[0]
        raise PortError(
            f"{label}({points[at]}) is {wanted[at]} in torch, and {found[at]} as it would be "
            "written; write the schedule by hand"
        )
