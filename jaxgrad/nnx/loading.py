"""Load and save torch state dicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from flax import nnx

from jaxgrad._core.copies import copy_to_numpy
from jaxgrad.nnx.containers import Container


class Incompatible(NamedTuple):
    """Keys that `load_state_dict` could not match."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def state_dict(module: nnx.Module) -> dict[str, np.ndarray]:
    """Return parameters and buffers as numpy arrays, under torch's keys.

    A key joins the names of nested attributes by dots; a shared variable appears under each of its
    names. Random states, intermediates and `nnx.Cache`, for buffers that torch does not save, are
    left out.

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
    return {name: _saved(variable) for name, variable in named_variables(module)}


def load_state_dict(
    module: nnx.Module, state_dict: Mapping[str, Any], strict: bool = True
) -> Incompatible:
    """Load a torch state dict into a module, which keeps its own dtypes.

    Args:
        module: A flax nnx module.
        state_dict: Tensors or arrays by key, from torch's `state_dict()` or `torch.load`.
        strict: Whether a missing or unexpected key is an error.

    Returns:
        The missing and the unexpected keys.

    Raises:
        TypeError: `module` is not a flax module, or `state_dict` is not a dict.
        RuntimeError: Keys are missing or unexpected, or a shape differs. The message is torch's,
            but nothing is written (torch writes the entries that fit).

    Example:
        >>> import numpy as np
        >>> from flax import nnx
        >>> from jaxgrad.nnx import Linear
        >>> layer = Linear(1, 1, bias=False, rngs=nnx.Rngs(0))
        >>> load_state_dict(layer, {"weight": np.array([[2.0]])})
        Incompatible(missing_keys=[], unexpected_keys=[])
        >>> print(layer.weight[...])
        [[2.]]

    Torch: `torch.nn.Module.load_state_dict`.
    """
    _check_arguments(module, state_dict)
    own = dict(named_variables(module))
    arrays = {key: copy_to_numpy(x) for key, x in state_dict.items() if hasattr(x, "shape")}
    # torch 0.4.1 added the counter; as in torch, a dict without metadata may be older than that.
    old = not hasattr(state_dict, "_metadata")
    missing = [
        k for k in own if k not in arrays and not (old and k.endswith("num_batches_tracked"))
    ]
    unexpected = [k for k in state_dict if k not in own]
    problems = []
    if strict and missing:
        problems.append(f"Missing key(s) in state_dict: {_quoted(missing)}. ")
    if strict and unexpected:
        problems.append(f"Unexpected key(s) in state_dict: {_quoted(unexpected)}. ")
    for key in own:
        shape = own[key][...].shape
        if key in arrays and arrays[key].shape != shape:
            problems.append(
                f"size mismatch for {key}: copying a param with shape {_size(arrays[key].shape)} "
                f"from checkpoint, the shape in current model is {_size(shape)}."
            )
    if problems:
        head = f"Error(s) in loading state_dict for {type(module).__name__}:"
        problems += _flax_layers(module, missing)
        raise RuntimeError("\n\t".join([head, *problems]))
    for key, variable in own.items():
        if key in arrays:
            variable[...] = jnp.asarray(arrays[key], variable[...].dtype)
    return Incompatible(missing, unexpected)


def named_variables(module: Any, prefix: str = "") -> Iterator[tuple[str, nnx.Variable]]:
    """Yield keys and variables in torch's order: parameters, buffers, then children."""
    items = [(name, x) for name, x in _attributes(module) if not name.startswith("_pytree__")]
    own = [(name, x) for name, x in items if isinstance(x, nnx.Variable) and not _is_transient(x)]
    for name, variable in sorted(own, key=lambda item: not isinstance(item[1], nnx.Param)):
        yield f"{prefix}{name}", variable
    for name, x in items:
        if isinstance(x, nnx.Module) and not isinstance(x, nnx.Rngs | nnx.RngStream):
            yield from named_variables(x, f"{prefix}{name}.")


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
    """Return a sentence on flax's own layers whose keys are missing, if there are any."""
    found = set()
    for path, part in nnx.iter_modules(module):
        prefix = "".join(f"{name}." for name in path if name != "layers")
        direct = any(key.rpartition(".")[0] == prefix.rstrip(".") for key in missing)
        if type(part).__module__.startswith("flax.") and direct:
            found.add(f"nnx.{type(part).__name__}")
    if not found:
        return []
    return [
        f"flax's {', '.join(sorted(found))} has other keys and layouts than torch: only the layers "
        "of jaxgrad.nnx load torch's state dicts."
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


def _saved(variable: nnx.Variable) -> np.ndarray:
    x = variable[...]
    # torch counts in int64, even if 64-bit types are switched off in JAX.
    return np.array(x, np.int64 if jnp.issubdtype(x.dtype, jnp.integer) else None)


def _quoted(keys: list[str]) -> str:
    return ", ".join(f'"{key}"' for key in keys)


def _size(shape: tuple[int, ...]) -> str:
    return f"torch.Size({list(shape)})"
