"""A row of the cheat sheet, and how its code is run.

A row's code is a program for each side. If its last line is an expression, that is the loss, and
the result is its gradient with respect to `x`; otherwise the row says what to read.
"""

import ast
import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from jax import lax
from torch import nn

import jaxgrad
from jaxgrad import functional, optim
from jaxgrad._core.torch_versions import Change, convention


RTOL = 1e-5  # in float32, which every row uses
STEPS = 3


def array(*values: Any) -> np.ndarray:
    return np.asarray(values, np.float32)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Row:
    """The same gradient in torch, in plain JAX and with jaxgrad; and a JAX line that is wrong.

    Attributes:
        name: What a torch user looks for.
        torch: The code in torch.
        jax: The code in plain JAX; empty where nothing short is right.
        jaxgrad: The code with jaxgrad; empty where plain JAX needs no help.
        wrong: JAX code that looks like torch's and has another result; may be empty.
        trap: A sentence on the mistake.
        given: The inputs by name; gradients are taken with respect to `x`.
        torch_before: Code that runs before `torch` and is not shown.
        jax_before: Code that runs before each JAX program and is not shown.
        read: Expressions for the result in torch and in JAX; None for the gradient of the last
            line.
        since: The change of torch with which the row holds. With an older torch only `jaxgrad` has
            torch's result, because it follows the version.
    """

    name: str
    torch: str
    jax: str = ""
    jaxgrad: str = ""
    wrong: str = ""
    trap: str = ""
    given: Mapping[str, Any] = dataclasses.field(
        default_factory=lambda: {"x": array(-1.0, 0.5, 2.0)}
    )
    torch_before: str = ""
    jax_before: str = ""
    read: tuple[str, str] | None = None
    since: Change | None = None

    @property
    def programs(self) -> list[str]:
        """The JAX programs that have torch's result."""
        return [code for code in (self.jax, self.jaxgrad) if code]


def torch_result(row: Row) -> Any:
    """Run a row's torch program and return its result as numpy arrays."""
    loss, names = torch_run(row)
    if row.read is None:
        loss.sum().backward()
        return _numpy(names["x"].grad)
    return _numpy(eval(row.read[0], names))


def torch_run(row: Row) -> tuple[Any, dict[str, Any]]:
    """Run a row's torch program and return the value of its last line, and all names."""
    names: dict[str, Any] = {"torch": torch, "nn": nn, "F": nn.functional}
    names |= {"train": _train_torch, "rates": _rates}
    names |= {name: torch.tensor(value) for name, value in row.given.items()}
    names["x"].requires_grad_()
    exec(row.torch_before, names)
    return run(row.torch, names), names


def jax_result(row: Row, code: str) -> Any:
    """Run a JAX program of a row and return its result as numpy arrays."""
    names: dict[str, Any] = {"jax": jax, "jnp": jnp, "lax": lax, "optax": optax, "np": np}
    operators = functional.at(convention())
    names |= {"jaxgrad": jaxgrad, "functional": operators, "optim": optim, "train": _train_jax}
    names |= {name: jnp.asarray(value) for name, value in row.given.items()}
    exec(row.jax_before, names)
    if row.read is None:
        grad = jax.grad(lambda x: jnp.sum(run(code, {**names, "x": x})))
        return _numpy(grad(names["x"]))
    run(code, names)
    return _numpy(eval(row.read[1], names))


def run(code: str, names: dict[str, Any]) -> Any:
    """Execute code in a namespace and return the value of its last line, if it is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<row>", "exec"), names)
    return eval(ast.unparse(last), names) if last else None


def same(a: Any, b: Any) -> bool:
    """Whether two results have the same structure, None included, and the same numbers."""
    flat = [jax.tree.flatten(result, is_leaf=lambda leaf: leaf is None) for result in (a, b)]
    if flat[0][1] != flat[1][1]:
        return False
    return all(
        (left is None) == (right is None)
        and (
            left is None
            or (
                np.shape(left) == np.shape(right)
                and np.allclose(left, right, RTOL, atol=0, equal_nan=True)
            )
        )
        for left, right in zip(flat[0][0], flat[1][0], strict=True)
    )


def _numpy(result: Any) -> Any:
    def leaf(x: Any) -> Any:
        x = x.detach().float() if isinstance(x, torch.Tensor) else x
        return None if x is None else np.asarray(x, np.float32)

    return jax.tree.map(leaf, result, is_leaf=lambda x: x is None or isinstance(x, torch.Tensor))


def _train_torch(optimizer: Any, x: Any) -> Any:
    """Take a few steps on the loss `sum(x**2)`."""
    for _ in range(STEPS):
        optimizer.zero_grad()
        (x**2).sum().backward()
        optimizer.step()
    return x


def _rates(optimizer: Any, scheduler: Any) -> list[float]:
    """Return the learning rate after 0, 5 and 15 steps."""
    rates = []
    for _ in range(16):
        rates.append(scheduler.get_last_lr()[0])
        optimizer.step()
        scheduler.step()
    return [rates[0], rates[5], rates[15]]


def _train_jax(tx: Any, x: Any) -> Any:
    """Take the same steps with an optax transformation."""
    state = tx.init(x)
    for _ in range(STEPS):
        updates, state = tx.update(2 * x, state, x)
        x = optax.apply_updates(x, updates)
    return x
