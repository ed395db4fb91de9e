"""Errors for arguments that a factory or layer does not have, which name torch's argument."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, ParamSpec, TypeVar

from jaxgrad._core import suggestions


P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")

# Arguments of optax, flax, equinox and keras, and torch's: the first that the function has counts.
_IN_TORCH = {
    "learning_rate": "lr",
    "init_value": "lr",
    "initial_learning_rate": "lr",
    "peak_value": "max_lr",
    "b1": "betas",
    "b2": "betas",
    "decay": "alpha rho",
    "decay_rate": "alpha beta2_decay gamma",
    "transition_steps": "step_size total_iters T_max",
    "decay_steps": "T_max total_iters",
    "boundaries": "milestones",
    "schedules": "schedulers",
    "max_delta": "clip_value max_norm",
    "memory_size": "history_size",
    "beta": "momentum betas",
    "din": "in_features in_channels input_size",
    "dout": "out_features out_channels hidden_size",
    "in_size": "in_features input_size",
    "out_size": "out_features output_size",
    "input_dim": "in_features input_size num_embeddings",
    "output_dim": "out_features embedding_dim",
    "units": "out_features hidden_size",
    "features": "out_features out_channels num_features embedding_dim hidden_size normalized_shape",
    "n_features": "num_features out_features",
    "num_features": "num_channels normalized_shape out_features",
    "in_features": "in_channels input_size embed_dim d_model",
    "out_features": "out_channels hidden_size",
    "in_channels": "in_features input_size",
    "out_channels": "out_features hidden_size",
    "hidden_features": "hidden_size",
    "filters": "out_channels",
    "dim": "normalized_shape",
    "axis": "dim",
    "use_bias": "bias",
    "use_scale": "elementwise_affine affine",
    "strides": "stride",
    "window_shape": "kernel_size",
    "kernel_dilation": "dilation",
    "dilation_rate": "dilation",
    "feature_group_count": "groups",
    "epsilon": "eps",
    "rate": "p dropout",
    "dropout_rate": "dropout p",
    "alpha": "negative_slope",
    "n_heads": "num_heads nhead",
    "param_dtype": "dtype",
    "key": "rngs",
    "seed": "rngs",
    "generator": "rngs",
}
_WRITTEN = {"betas": "betas=(b1, b2)", "rngs": "rngs=nnx.Rngs(seed)"}
_MODE = ": call train() or eval() on the layer"
_START = ": assign to the layer's weight and bias after construction, as with torch.nn.init"
_DEPRECATED = ": torch deprecates it; write reduction='mean', 'sum' or 'none'"
_STATE = ": the state has the dtype of each parameter, as in torch"
_GROUPS = ": options of some parameters alone are options of param_groups"
_ADVICE = {
    "params": ": the parameters are arguments of init, update and step",
    "optimizer": ": give the initial learning rate as lr",
    "model": ": the parameters are arguments of init and update",
    "eps_root": ": torch adds eps to the root and nothing under it",
    "mask": _GROUPS,
    "weight_decay_mask": _GROUPS,
    "mu_dtype": _STATE,
    "accumulator_dtype": _STATE,
    "nesterov": ": torch has Nesterov momentum in sgd, nadam and muon",
    "device": ": JAX chooses the device; see jax.default_device",
    "deterministic": _MODE,
    "training": _MODE,
    "inference": _MODE,
    "use_running_average": _MODE,
    "kernel_init": _START,
    "bias_init": _START,
    "embedding_init": _START,
    "scale_init": _START,
    "size_average": _DEPRECATED,
    "reduce": _DEPRECATED,
}


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Let a factory, or a layer's `__init__`, reject wrong arguments with torch's name for them."""
    signature = inspect.signature(function)
    is_method = next(iter(signature.parameters), None) == "self"

    @functools.wraps(function)
    def make(*args: P.args, **kwargs: P.kwargs) -> R:
        label = type(args[0]).__name__ if is_method else function.__name__
        check(function, kwargs, label=label)
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            of_lr = "argument 'lr'" in str(error)
            advice = _EXPECTED[str(signature.parameters["lr"].annotation)][2] if of_lr else ""
            raise TypeError(f"{label}(): {error}{advice}") from None
        for name, x in given.items():
            _check_type(label, name, str(signature.parameters[name].annotation), x)
        return function(*args, **kwargs)

    return make


def spelt(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function reject a keyword that it does not have with the one that is spelt alike."""
    known = [name for name in inspect.signature(function).parameters if name != "self"]
    label = function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                hint = suggestions.near(name, known) or f"; it has {', '.join(known)}"
                raise TypeError(f"{label}() has no argument {name!r}{hint}")
        return function(*args, **kwargs)

    return call


def fields_spelt(cls: type[T]) -> type[T]:
    """Let a dataclass reject a keyword that it does not have with the field that is spelt alike."""
    cls.__init__ = spelt(cls.__init__)
    return cls


def check(
    function: Callable[..., Any], names: Iterable[str], *more: str, label: str | None = None
) -> None:
    """Raise TypeError if a factory lacks an argument.

    Args:
        function: The factory, or the `__init__` of a layer.
        names: The names of the arguments.
        *more: Further names that are accepted.
        label: The name of the factory in the error; None means its own.
    """
    parameters = inspect.signature(function).parameters
    if any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
        return
    known = [name for name in parameters if name != "self"] + list(more)
    for name in names:
        if name not in known:
            label = label or getattr(function, "__name__", "the factory")
            raise TypeError(f"{label}() has no argument {name}{_hint(name, known)}")


def _hint(name: str, known: list[str]) -> str:
    for candidate in _IN_TORCH.get(name, "").split():
        if candidate in known:
            subject = "write" if candidate == "rngs" else "torch's name is"
            return f"; {subject} {_WRITTEN.get(candidate, candidate)}"
    if name in _ADVICE:
        return _ADVICE[name]
    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]}?" if near else f"; it has {', '.join(known) or 'none'}"


def _check_type(label: str, name: str, annotation: str, x: Any) -> None:
    """Raise TypeError if an argument that is annotated as a number or sizes is something else."""
    needed = annotation.removesuffix(" | None")
    if needed not in _EXPECTED or (x is None and annotation != needed):
        return
    expected, accepts, advice = _EXPECTED[needed]
    if not accepts(x):
        advice = "" if isinstance(x, str) or name != "lr" else advice
        raise TypeError(f"{label}(): {name} must be {expected}, but got {_shown(x)}{advice}")


def _shown(x: Any) -> str:
    text = repr(x)
    return text if len(text) <= 60 else type(x).__name__


def _number(x: Any) -> bool:
    return hasattr(x, "__float__")


def _numbers(x: Any) -> bool:
    return _number(x) or (isinstance(x, list | tuple) and all(map(_number, x)))


def _sizes(x: Any) -> bool:
    return hasattr(x, "__index__") or (
        isinstance(x, list | tuple) and all(hasattr(n, "__index__") for n in x)
    )


# What an annotation stands for, which values it accepts, and advice about an `lr` that it rejects.
_EXPECTED: dict[str, tuple[str, Callable[[Any], bool], str]] = {
    "int": ("a number", _number, ""),
    "float": ("a number", _number, ""),
    "ArrayLike": ("a number", lambda x: _number(x) or callable(x), ""),
    "ScalarOrSchedule": (
        "a number or a schedule",
        lambda x: _number(x) or callable(x),
        "; the parameters are arguments of init, update and step",
    ),
    "float | jax.Array": ("a number", _number, ""),
    "Rates": (
        "a number, or a list with one per parameter group",
        _numbers,
        "; pass the rate that the optimizer starts with",
    ),
    "Sizes": ("an int or a tuple of ints", _sizes, ""),
    "int | Sequence[int]": ("an int or a tuple of ints", _sizes, ""),
}
