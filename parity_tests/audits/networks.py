"""Measure the bytes that networks save for the backward pass, in JAX and in torch."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import numpy as np
import torch
from torch.autograd.graph import saved_tensors_hooks

from jaxgrad.checkpointing import SavedBytes, saved_bytes
from jaxgrad.parity.interop import to_torch


DOTS = jax.checkpoint_policies.dots_saveable
# Name -> module of `parity_tests.ports`, options of its pair, checkpoint policy of the JAX program.
NETWORKS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "MLP": ("mlp", {}, None),
    "MLP, only products": ("mlp", {}, DOTS),
    "conv net, batch norm": ("cnn_bn", {}, None),
    "conv net, one checkpoint": ("cnn_bn", dict(remat=True), None),
    "transformer, scan": ("gpt2", dict(scan=True), None),
    "transformer, scan of checkpoints": ("gpt2", dict(scan=True, remat=True), None),
    "LSTM": ("lstm", {}, None),
    "LSTM, only products": ("lstm", {}, DOTS),
    "U-Net": ("unet", {}, None),
    "U-Net, only products": ("unet", {}, DOTS),
}


class Network(NamedTuple):
    module: torch.nn.Module
    fun: Callable[..., Any]
    args: tuple[Any, ...]  # the parameters, followed by the inputs


class Bytes(NamedTuple):
    counted: SavedBytes
    compiled: int
    torch: int


def compared(name: str) -> Bytes:
    """Return the float64 bytes that a network saves according to `saved_bytes`, XLA and torch."""
    with jax.enable_x64(True):
        module, fun, args = network(name)
        inputs = to_torch(args[1:])
        known_tensors = [*inputs, *module.parameters(), *module.buffers()]
        in_torch = torch_bytes(lambda: module(*inputs), known_tensors)
        return Bytes(saved_bytes(fun, *args), compiled_bytes(fun, *args), in_torch)


def network(name: str) -> Network:
    """Return a torch module and the equivalent JAX program with its arguments."""
    twin, options, policy = NETWORKS[name]
    port = importlib.import_module(f"parity_tests.ports.{twin}").pair(**options)
    fun = jax.checkpoint(port["fn"], policy=policy) if policy else port["fn"]
    return Network(port["module"], fun, (port["params"], *port["inputs"]))


def compiled_bytes(fun: Callable[..., Any], *args: Any) -> int:
    """Return the bytes that the compiled forward pass returns only for the backward pass.

    Two kinds of outputs are not counted: the results of `fun`, and outputs whose values are a
    permutation of an argument's, such as a transposed weight.
    """
    forward = jax.jit(lambda *args: jax.vjp(fun, *args))
    results = len(jax.tree.leaves(jax.eval_shape(fun, *args)))
    compiled = forward.lower(*args).compile()
    outs = [np.asarray(x) for x in jax.tree.leaves(compiled(*args))]
    known = {_numbers(x) for x in jax.tree.leaves(args)}
    return sum(x.nbytes for x in outs[results:] if _numbers(x) not in known)


def _numbers(x: Any) -> tuple[str, bytes]:
    x = np.asarray(x)
    return str(x.dtype), np.sort(x, axis=None).tobytes()


def torch_bytes(run: Callable[[], Any], known_tensors: Iterable[torch.Tensor]) -> int:
    """Return the bytes that torch saves for the backward pass, without the given tensors."""
    known = {x.untyped_storage().data_ptr() for x in known_tensors}
    kept: list[torch.Tensor] = []

    def pack(x: torch.Tensor) -> torch.Tensor:
        if x.untyped_storage().data_ptr() not in known:
            known.add(x.untyped_storage().data_ptr())
            kept.append(x)  # keep the tensor alive, so that its address is not reused
        return x

    with saved_tensors_hooks(pack, lambda x: x):
        run()
    return sum(x.untyped_storage().nbytes() for x in kept)
