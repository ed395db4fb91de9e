"""Load and save torch state dicts, for layers of `jaxgrad.nnx` and for flax's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from flax import nnx

from jaxgrad._core.copies import copy_to_numpy
from jaxgrad.nnx.containers import Container
from jaxgrad.nnx.flax_layers import Part, Tensor, tensors_of


class Incompatible(NamedTuple):
    """Keys that `load_state_dict` could not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def state_dict(module: nnx.Module) -> dict[str, np.ndarray]:
    """Return parameters and buffers as numpy arrays, under torch's keys and in its layouts.

    A key joins the names of nested attributes by dots; a shared variable appears under each of its
    names. Random states, intermediates and `nnx.Cache`, for buffers that torch does not save, are
    left out. In flax's own recurrent cells, one bias holds the sum of torch's two: it is saved as
    `bias_ih`, and `bias_hh` is zero.

    Args:
        module: A flax nnx module. The keys are torch's if its children have torch's names
            (`nnx.List` corresponds to `ModuleList`).

    Returns:
        Numpy arrays by key; integers become int64.

    Raises:
        TypeError: `module` is not a flax module.

    Example:
        >>> from flax import nnx
        >>> from jaxgrad.nnx import Linear
        >>> print({k: v.shape for k, v in state_dict(Linear(4, 2, rngs=nnx.Rngs(0))).items()})
        {'weight': (2, 4), 'bias': (2,)}

    Torch: `torch.nn.Module.state_dict`.
    """
    _check_module(module, "a torch module has a method state_dict()")
    return {name: _saved(tensor) for name, tensor in named_tensors(module) if tensor.parts}


def load_state_dict(
    module: nnx.Module, state_dict: Mapping[str, Any], strict: bool = True
) -> Incompatible:
    """Load a torch state dict into a module, which keeps its own dtypes.

    The layers may be those of `jaxgrad.nnx` and flax's own, such as `flax.nnx.Linear`. The latter
    have torch's keys here too, and a tensor is transposed where the layer of flax stores it so:
    by the layer's class, never by its shape.

    Args:
        module: A flax nnx module.
        state_dict: Tensors or arrays by key, from torch's `state_dict()` or `torch.load`. Where an
            attribute of `module` has another name than in torch, rename the keys first.
        strict: Whether a missing or unexpected key is an error.

    Returns:
        The missing and the unexpected keys.

    Raises:
        TypeError: `module` is not a flax module, or `state_dict` is not a dict.
        RuntimeError: Keys are missing or unexpected, a shape differs, or flax's layer has no place
            for a bias that is not zero. The message is torch's, but nothing is written (torch
            writes the entries that fit).

    Example:
        >>> import numpy as np
        >>> from flax import nnx
        >>> from jaxgrad.nnx import Linear
        >>> layer = Linear(1, 1, bias=False, rngs=nnx.Rngs(0))
        >>> load_state_dict(layer, {"weight": np.array([[2.0]])})
        Incompatible(missing_keys=[], unexpected_keys=[])
        >>> print(layer.weight[...])
        [[2.]]
        >>> layer = nnx.Linear(2, 1, use_bias=False, rngs=nnx.Rngs(0))  # flax's own
        >>> load_state_dict(layer, {"weight": np.array([[2.0, 3.0]])})
        Incompatible(missing_keys=[], unexpected_keys=[])
        >>> print(layer.kernel.shape, layer.kernel[...].ravel())
        (2, 1) [2. 3.]

    Torch: `torch.nn.Module.load_state_dict`.
    """
    _check_arguments(module, state_dict)
    own = dict(named_tensors(module))
    arrays = {key: copy_to_numpy(x) for key, x in state_dict.items() if hasattr(x, "shape")}
    # torch 0.4.1 added the counter; as in torch, a dict without metadata may be older than that.
    old = not hasattr(state_dict, "_metadata")
    held = {key: tensor for key, tensor in own.items() if tensor.parts}
    missing = [
        k for k in held if k not in arrays and not (old and k.endswith("num_batches_tracked"))
    ]
    unexpected = [k for k in state_dict if k not in own]
    problems = []
    if strict and missing:
        problems.append(f"Missing key(s) in state_dict: {_quoted(missing)}. ")
    if strict and unexpected:
        problems.append(f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
    loaded = {key: tensor for key, tensor in held.items() if key in arrays}
    problems += [text for key, x in loaded.items() for text in _misfits(key, arrays[key], x)]
    if problems:
        head = f"Error(s) in loading state_dict for {type(module).__name__}:"
        problems += _flax_layers(module, missing)
        raise RuntimeError("\n\t".join([head, *problems]))
    _write(loaded, arrays)
    return Incompatible(missing, unexpected)


def named_tensors(
    module: Any, prefix: str = "", held: frozenset[int] = frozenset()
) -> Iterator[tuple[str, Tensor]]:
    """Yield keys and tensors in torch's order: parameters, buffers, then children.

    Args:
        module: A flax nnx module.
        prefix: The start of the keys.
        held: The ids of the variables that belong to a tensor of a module around this one.
    """
    tensors = [
        (name, tensor)
        for name, tensor in (tensors_of(module) or {}).items()
        if not any(id(part.variable) in held for part in tensor.parts)
    ]
    held |= {id(part.variable) for _, tensor in tensors for part in tensor.parts}
    for name, tensor in tensors:
        yield f"{prefix}{name}", tensor
    items = [(name, x) for name, x in _attributes(module) if not name.startswith("_pytree__")]
    own = [(name, x) for name, x in items if isinstance(x, nnx.Variable) and not _is_transient(x)]
    for name, variable in sorted(own, key=lambda item: not isinstance(item[1], nnx.Param)):
        if id(variable) not in held:
            yield f"{prefix}{name}", Tensor((Part(variable),))
    for name, x in items:
        if isinstance(x, nnx.Module) and not isinstance(x, nnx.Rngs | nnx.RngStream):
            yield from named_tensors(x, f"{prefix}{name}.", held)


def _misfits(key: str, array: np.ndarray, tensor: Tensor) -> Iterator[str]:
    """Yield a sentence if an array cannot be loaded into the variables of a tensor."""
    if array.shape != tensor.shape:
        stored = [list(part.variable[...].shape) for part in tensor.parts]
        differs = stored != [list(tensor.shape)]
        flax = f" (in flax's layout: {', '.join(map(str, stored))})" if differs else ""
        yield (
            f"size mismatch for {key}: copying a param with shape {_size(array.shape)} "
            f"from checkpoint, the shape in current model is {_size(tensor.shape)}{flax}."
        )
    elif tensor.zero_from is not None and np.any(rest := array[tensor.zero_from :]):
        yield (
            f"{key}: its last {len(rest)} elements must be zero, because flax's nnx.GRUCell has no "
            f"bias in the term that the reset gate scales; the largest is {np.abs(rest).max():.3g}:"
            " use jaxgrad.nnx.GRU or GRUCell, which have this bias."
        )


def _write(tensors: Mapping[str, Tensor], arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays into the variables of their tensors."""
    values: dict[int, tuple[Any, np.ndarray]] = {}
    for key, tensor in tensors.items():
        for variable, x in tensor.split(arrays[key]):
            before = values.get(id(variable))
            values[id(variable)] = variable, x + before[1] if tensor.added and before else x
    for variable, x in values.values():
        variable[...] = jnp.asarray(x, variable[...].dtype)


def _check_arguments(module: Any, state_dict: Any) -> None:
    _check_module(module, "call load_state_dict(model, torch_model.state_dict())")
    if not isinstance(state_dict, Mapping):
        hint = ": pass its state_dict()" if hasattr(state_dict, "state_dict") else ""
        raise TypeError(
            "state_dict must be a dict of tensors by key, but got "
            f"{type(state_dict).__name__}{hint}"
        )


def _check_module(module: Any, hint: str) -> None:
    if not isinstance(module, nnx.Module):
        name = type(module).__name__
        raise TypeError(f"the first argument must be a flax nnx module, but got {name}: {hint}")


def _flax_layers(module: nnx.Module, missing: list[str]) -> list[str]:
    """Return a sentence on layers of flax without a counterpart whose keys are missing, if any."""
    found = set()
    for path, part in nnx.iter_modules(module):
        prefix = "".join(f"{name}." for name in path if name != "layers")
        direct = any(key.rpartition(".")[0] == prefix.rstrip(".") for key in missing)
        if type(part).__module__.startswith("flax.") and direct and tensors_of(part) is None:
            found.add(f"nnx.{type(part).__name__}")
    if not found:
        return []
    return [
        f"flax's {', '.join(sorted(found))} has no counterpart in torch.nn, so its keys are "
        "flax's: set its variables yourself, or use a layer of jaxgrad.nnx."
    ]


def _attributes(module: Any) -> list[tuple[str, Any]]:
    if isinstance(module, Container):
        return [(name, getattr(module, name)) for name in module.names]
    if isinstance(module, nnx.List):
        return [(str(i), x) for i, x in enumerate(module)]
    if isinstance(module, nnx.Sequential):
        return [(str(i), x) for i, x in enumerate(module.layers)]
    return list(vars(module).items())


def _is_transient(variable: Any) -> bool:
    return isinstance(variable, nnx.RngState | nnx.Intermediate | nnx.Perturbation | nnx.Cache)


def _saved(tensor: Tensor) -> np.ndarray:
    x = tensor.saved()
    # torch counts in int64, even if 64-bit types are switched off in JAX.
    return np.array(x, np.int64 if jnp.issubdtype(x.dtype, jnp.integer) else None, order="C")


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)


def _size(shape: tuple[int, ...]) -> str:
    return f"torch.Size({list(shape)})"
