"""Build SGD training steps in torch and JAX around the gradients of a behaviour."""

from __future__ import annotations

import pathlib
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch import nn

from benchmarks.behaviours import Behaviour, Grads
from benchmarks.interleaved import seconds
from benchmarks.networks import Network


@contextmanager
def one_process() -> Iterator[None]:
    """Set up a process group that contains only this process, with nccl if torch uses a GPU."""
    backend = "nccl" if torch.get_default_device().type == "cuda" else "gloo"
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "group")
        torch.distributed.init_process_group(backend, f"file://{path}", rank=0, world_size=1)
        try:
            yield
        finally:
            torch.distributed.destroy_process_group()


class Step(NamedTuple):
    """A compiled step with its arguments; calling it returns loss, parameters and state."""

    compiled: Any
    args: tuple[Any, ...]

    def __call__(self) -> Any:
        return self.compiled(*self.args)


def jax_step(net: Network, params: Any, grads: Grads, tx: Any) -> Step:
    """Compile a JAX training step with an optimizer `tx` from optax or jaxgrad."""
    x, y, state = jnp.asarray(net.x), jnp.asarray(net.y), tx.init(params)

    @jax.jit
    def step(params: Any, state: Any, x: jax.Array, y: jax.Array) -> Any:
        value, gradients = grads(params, x, y)
        if hasattr(tx, "step"):
            return value, tx.step(gradients, state, params)
        reached = jax.tree.map(
            lambda g, p: None if g is None else p, gradients, params, is_leaf=_none
        )
        updates, moved = tx.update(gradients, state, reached)
        new = jax.tree.map(lambda u, p: p if u is None else p + u, updates, params, is_leaf=_none)
        return value, (new, moved)

    args = params, state, x, y
    return Step(step.lower(*args).compile(), args)


def _none(leaf: Any) -> bool:
    return leaf is None


def torch_step(net: Network, behaviour: Behaviour, compiled: bool = False) -> Callable[[], Any]:
    """Return a torch training step that returns the updated parameters."""
    modules, _ = net.built()
    modules.train()
    x, y = torch.tensor(net.x), torch.tensor(np.asarray(net.y))
    loss, backward = behaviour.torch(modules)
    sgd = torch.optim.SGD(modules.parameters(), lr=1e-2)
    if compiled:
        loss = torch.compile(loss)

    def step() -> list[nn.Parameter]:
        sgd.zero_grad()
        backward(loss, x, y)
        sgd.step()
        return list(modules.parameters())

    return step


def compiled_torch_step(net: Network, behaviour: Behaviour) -> Callable[[], Any] | str:
    """Return a torch training step that torch.compile has compiled, or why there is none."""
    if not (shutil.which("g++") or shutil.which("clang++")):
        return "no C++ compiler here"
    try:
        step = torch_step(net, behaviour, compiled=True)
        seconds(step)
    except Exception as error:  # torch.compile may raise any type of error
        return str(error).strip().partition("\n")[0][:80]
    return step
