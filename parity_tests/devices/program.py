"""A program, and whether JAX can lower it for a GPU and for a TPU, which needs neither."""

import dataclasses
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp


PLATFORMS = {"cuda": "GPU", "tpu": "TPU"}
_MISSING_RULE = re.compile(r"translation rule for primitive '(\w+)' not found")

Call = tuple[Callable[..., Any], tuple[Any, ...]]  # a function and its arguments


@dataclasses.dataclass(frozen=True)
class LoweredProgram:
    """One public function in one dtype, or several calls of it.

    Attributes:
        group: The section of the table that counts the program: "operators", "layers", ...
        name: The function, layer or case.
        dtype: The dtype of the floating arguments.
        calls: Yields each call. It is only called when the program is lowered.
        differentiate: Whether the gradient is lowered with the outputs. A program that contains
            its own gradient, such as an optimizer step, needs no other.
    """

    group: str
    name: str
    dtype: str
    calls: Callable[[], Iterator[Call]]
    differentiate: bool = False

    @property
    def id(self) -> str:
        return f"{self.group}/{self.name}/{self.dtype}"


@dataclasses.dataclass(frozen=True)
class Refusal:
    """Why a program, or some of its calls, cannot be lowered.

    Attributes:
        program: The `id` of the program.
        devices: "GPU", "TPU", "GPU and TPU", or "any device" if it cannot even be traced.
        reason: One sentence.
        calls: The number of refused calls, and of all calls.
    """

    program: str
    devices: str
    reason: str
    calls: tuple[int, int]


def refusals(program: LoweredProgram) -> list[Refusal]:
    """Lower a program for every platform and return what cannot be lowered, which may be nothing.

    All calls are lowered together. If that fails, each is lowered alone.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a call may warn, but must still be lowered
        calls = list(program.calls())
        if not calls:
            raise ValueError(f"{program.id} has no call: it would be reported as lowered")
        if not _refused(calls, program.differentiate):
            return []
        alone = [_refused([call], program.differentiate) for call in calls]
    reasons = [reason for reason in alone if reason]
    return [
        Refusal(program.id, *reason, (reasons.count(reason), len(calls)))
        for reason in dict.fromkeys(reasons)
    ]


def _refused(calls: list[Call], differentiate: bool) -> tuple[str, str] | None:
    """Return the devices and the reason for which calls cannot be lowered, or None."""
    funs = [with_gradient(fun) if differentiate else fun for fun, _ in calls]

    def together(arguments: list[Any]) -> list[Any]:
        return [arrays(fun(*args)) for fun, args in zip(funs, arguments, strict=True)]

    try:
        traced = jax.jit(together).trace([args for _, args in calls])
    except (jax.errors.ConcretizationTypeError, jax.errors.NonConcreteBooleanIndexError):
        return "any device", "a shape or a branch depends on the values of the arguments"
    except Exception as error:
        return "any device", f"{type(error).__name__}: {_line(error)}"
    neither = _not_lowered(traced, *PLATFORMS)
    if neither is None:
        return None
    alone = {
        device: reason
        for platform, device in PLATFORMS.items()
        if (reason := _not_lowered(traced, platform)) is not None
    }
    return " and ".join(alone), next(iter(alone.values()), neither)


def _not_lowered(traced: Any, *platforms: str) -> str | None:
    """Return why a traced program cannot be lowered, or None.

    `jax.export` lowers in the same way, but also refuses programs that it cannot serialize.
    """
    try:
        traced.lower(lowering_platforms=platforms)
    except Exception as error:
        missing = _MISSING_RULE.search(str(error))
        return f"JAX has no `{missing[1]}` there" if missing else _line(error)
    return None


def with_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Return the outputs of `fun` and the gradients with respect to its floating arguments."""

    def both(*args: Any) -> Any:
        leaves, treedef = jax.tree.flatten(args)
        live = [i for i, x in enumerate(leaves) if jnp.issubdtype(jnp.result_type(x), jnp.inexact)]

        def outputs(floating: list[jax.Array]) -> Any:
            filled = list(leaves)
            for i, x in zip(live, floating, strict=True):
                filled[i] = x
            out = arrays(fun(*jax.tree.unflatten(treedef, filled)))
            return [y for y in out if jnp.issubdtype(y.dtype, jnp.inexact)], out

        floating, pull, out = jax.vjp(outputs, [leaves[i] for i in live], has_aux=True)
        return out, pull([jnp.ones_like(y) for y in floating])[0]

    return both


def arrays(tree: Any) -> list[Any]:
    """Return the arrays among the leaves of a tree; names and flags are dropped."""
    return [jnp.asarray(x) for x in jax.tree.leaves(tree) if hasattr(x, "dtype")]


def _line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:160]
