"""Run a module and the port that `jaxgrad.port` writes of it on one device, and compare them.

`prove` computes on the CPU. Here both frameworks compute on the GPU, so that its libraries, its
order of sums and the compiler's fusions are those with which a person trains.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch import nn

import jaxgrad
from jaxgrad.parity.interop import cast, map_leaves, to_numpy, to_torch
from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.proof.ported import Ported
from jaxgrad.parity.port.proof.verifying import in_mode_of
from jaxgrad.parity.prove.record.torch_side.trees import flat_outputs
from parity_tests.runner.environment import torch_device


class WrongDtype(Exception):
    """A module converts numbers to a fixed dtype, so that torch runs it in no other."""


class Results(NamedTuple):
    """The outputs of a run, and the gradients of the sum of their squares by parameter."""

    outputs: dict[str, np.ndarray]  # by path
    gradients: dict[str, np.ndarray]  # by the paths of the port's params


class Errors(NamedTuple):
    """The largest difference from torch's float64 results, relative to the largest number there."""

    torch: float
    port: float


def written(module: nn.Module, inputs: Any) -> Ported:
    """Return the port of a module in eval mode, without a proof."""
    return port(module.eval(), inputs, prove=False)


def draws(module: nn.Module, inputs: Any) -> bool:
    """Return whether a module draws random numbers in eval mode, so that two runs differ."""
    runs = []
    for seed in range(2):
        torch.manual_seed(seed)
        outputs = _called(module.eval(), to_torch(to_numpy(inputs)))
        runs.append([x.detach().numpy() for x in outputs.values()])
    return not all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*runs, strict=True))


def errors(
    module: nn.Module, ported: Ported, inputs: Any, dtype: str, device: str
) -> tuple[Errors, Errors]:
    """Return the errors of the outputs and of the gradients, of torch and of the port.

    The reference is torch in float64 on the CPU, or in `dtype` if it cannot run in float64.

    Raises:
        WrongDtype: torch cannot run the module in `dtype`.
    """
    arrays = to_numpy(inputs)
    try:
        exact = by_torch(module, ported, arrays, "float64", "cpu")
    except RuntimeError as error:
        if dtype == "float64":
            raise WrongDtype(str(error)) from error
        exact = by_torch(module, ported, arrays, dtype, "cpu")
    theirs = by_torch(module, ported, arrays, dtype, device)
    ours = by_port(module, ported, arrays, dtype, device)
    outputs, gradients = (
        Errors(_distance(exact[n], theirs[n]), _distance(exact[n], ours[n])) for n in range(2)
    )
    return outputs, gradients


def by_torch(module: nn.Module, ported: Ported, inputs: Any, dtype: str, device: str) -> Results:
    """Run a module on a device, and return its gradients in the order of the port's params."""
    place = torch_device(device)
    module = in_dtype(module, dtype).to(place).eval()
    module.zero_grad()
    for part in module.modules():
        if place == "cuda" and isinstance(part, nn.RNNBase):
            part.train()  # cuDNN has no gradient in eval mode
            part.dropout = 0.0
    with torch.device(place):
        arguments = map_leaves(
            lambda x: x.to(place) if isinstance(x, torch.Tensor) else x,
            to_torch(cast(inputs, dtype)),
        )
        outputs = _called(module, arguments)
        sum(
            (x.abs().square().sum() for x in outputs.values()), torch.zeros((), device=place)
        ).backward()
    filled = {
        name: torch.zeros_like(x) if x.grad is None else x.grad
        for name, x in module.state_dict(keep_vars=True).items()
    }
    tree = ported.params({name: x.detach().cpu() for name, x in filled.items()})
    module.to("cpu")
    return Results(
        {k: x.detach().cpu().numpy() for k, x in outputs.items()}, _trained(ported, tree)
    )


def by_port(module: nn.Module, ported: Ported, inputs: Any, dtype: str, device: str) -> Results:
    """Run the port of a module on a device under `jit`."""
    with jax.enable_x64(dtype == "float64"):  # a float32 program is for a session without float64
        return _by_port(module, ported, inputs, dtype, jax.devices(device)[0])


def _by_port(module: nn.Module, ported: Ported, inputs: Any, dtype: str, place: Any) -> Results:
    params = jax.device_put(ported.params(in_dtype(module, dtype).state_dict()), place)
    trained, rest = jaxgrad.partition(params, lambda _, x: is_inexact(x))
    run = in_mode_of(ported.fn, ported.takes_mode, False, 0)
    args = map_leaves(
        lambda x: jnp.asarray(x) if isinstance(x, np.ndarray) else x, cast(inputs, dtype)
    )

    def loss(trained: Any) -> Any:
        merged = jaxgrad.combine(trained, rest)
        out = run(merged, **args) if isinstance(args, Mapping) else run(merged, *args)
        out = out[0] if ported.has_state else out
        found = jax.tree_util.tree_leaves_with_path(out)
        outputs = {_path(path): x for path, x in found if is_inexact(x)}
        return sum(jnp.sum(jnp.square(jnp.abs(x))) for x in outputs.values()), outputs

    with jax.default_device(place), jax.default_matmul_precision("highest"):
        gradients, outputs = jax.jit(jax.grad(loss, has_aux=True))(trained)
    tree = jax.tree.map(
        lambda g, x: np.zeros(x.shape) if g is None else np.conj(np.asarray(g)),
        gradients, params, is_leaf=lambda x: x is None,
    )  # fmt: skip
    return Results({k: np.asarray(x) for k, x in outputs.items()}, _trained(ported, tree))


def in_dtype(module: nn.Module, dtype: str) -> nn.Module:
    """Change the floating numbers of a module to a dtype, and its complex ones too."""
    real = getattr(torch, dtype)
    for x in (*module.parameters(), *module.buffers()):
        if x.is_complex():
            x.data = x.data.to(real.to_complex())
        elif x.is_floating_point():
            x.data = x.data.to(real)
    return module


def is_inexact(x: Any) -> bool:
    return jnp.issubdtype(jnp.result_type(x), jnp.inexact)


def _called(module: nn.Module, inputs: Any) -> dict[str, torch.Tensor]:
    """Return the floating and complex outputs of a module by their paths."""
    out = module(**inputs) if isinstance(inputs, Mapping) else module(*inputs)
    found = dict(flat_outputs(out))
    return {path: x for path, x in found.items() if x.is_floating_point() or x.is_complex()}


def _path(keys: tuple[Any, ...]) -> str:
    """Return the path of a leaf as `flat_outputs` writes it."""
    names = (getattr(k, "key", getattr(k, "idx", getattr(k, "name", ""))) for k in keys)
    return "/".join(map(str, names))


def _trained(ported: Ported, tree: Any) -> dict[str, np.ndarray]:
    """Return the leaves that torch trains by their paths in the port's params."""
    marks = jax.tree.leaves(ported.trainable)
    found = jax.tree_util.tree_leaves_with_path(tree)
    return {_path(path): x for (path, x), trained in zip(found, marks, strict=True) if trained}


def _distance(exact: dict[str, np.ndarray], found: dict[str, np.ndarray]) -> float:
    """Return the largest difference, relative to the largest finite number of `exact`."""
    assert set(exact) == set(found), f"torch has {sorted(exact)}, the port {sorted(found)}"
    sizes = [np.max(np.abs(x), initial=0.0, where=np.isfinite(x)) for x in exact.values()]
    scale = float(max(sizes, default=0.0)) or 1.0
    worst = 0.0
    for path, a in exact.items():
        b = found[path]
        assert a.shape == b.shape, f"{path} has the shape {a.shape} in torch, {b.shape} in the port"
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        gaps = np.abs(np.where(same, 0, a) - np.where(same, 0, b))
        worst = max(worst, float(np.max(np.nan_to_num(gaps, nan=np.inf), initial=0.0)))
    return worst / scale
