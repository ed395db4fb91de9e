"""The layer of `jaxgrad.nnx` that stands for a layer of torch, and the call that makes it."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import warnings
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any

import torch
from flax import nnx
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import _WeightNorm

import jaxgrad.nnx
from jaxgrad.nnx.loading import named_tensors
from jaxgrad.parity.port.source import numbers, syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.source.refusals import PortError


# An argument of a layer whose value is whether torch's layer has a tensor.
_PRESENT = {
    ("MultiheadAttention", "bias"): "in_proj_bias",
    ("MultiheadAttention", "add_bias_kv"): "bias_k",
}


# Written as functions: losses, layers whose draws `prove` cannot repeat, and containers.
_AS_FUNCTIONS = re.compile(r".*Loss|FractionalMaxPool.d|RReLU|Sequential|Module(List|Dict)")


def is_layer(module: nn.Module) -> bool:
    """Return whether `jaxgrad.nnx` has a layer with torch's settings, parameters and buffers.

    Layers without parameters, buffers and draws are written as functions, which is shorter.
    """
    kind = _class_of(module)
    if getattr(nn, kind.__name__, None) is not kind or getattr(module, "inplace", False):
        return False
    if is_weight_normed(module):
        return True
    if not hasattr(jaxgrad.nnx, kind.__name__) or _AS_FUNCTIONS.fullmatch(kind.__name__):
        return False
    made = _made(kind.__name__, _key(module))
    if made is None:
        return False
    own = {name: x.shape for name, x in named_tensors(made)}
    if not own and not draws(module):
        return False
    if kind.__name__ in _TRANSFORMERS and not _is_as_made(module):
        return False
    return own == {name: tuple(x.shape) for name, x in module.state_dict().items()}


def is_weight_normed(module: nn.Module) -> bool:
    """Return whether a layer of torch's has `weight_norm` of its parameters and nothing else."""
    normed = _weight_norms(module)
    kind = _class_of(module)
    if not normed or getattr(nn, kind.__name__, None) is not kind:
        return False
    if not hasattr(jaxgrad.nnx, kind.__name__) or kind.__name__ in _TRANSFORMERS:
        return False
    made = _made(kind.__name__, _key(module))
    own = {name for name, _ in named_tensors(made)} if made is not None else set()
    plain = {name for name, _ in module.named_parameters() if "." not in name}
    return own == plain | set(normed) and not list(module.buffers())


def _weight_norms(module: nn.Module) -> dict[str, int | None]:
    """Return the dim of the `weight_norm` of each parameter; {} if another change is among them.

    torch stores a dim of None, the norm of the whole tensor, as -1.
    """
    if not parametrize.is_parametrized(module):
        return {}
    lists: Any = module.parametrizations
    norms = {name: list(items) for name, items in lists.items()}
    if not all([type(x) for x in items] == [_WeightNorm] for items in norms.values()):
        return {}
    dims = {name: items[0].dim for name, items in norms.items()}
    return {name: None if dim == -1 else dim for name, dim in dims.items()}


def _class_of(module: nn.Module) -> type[nn.Module]:
    """Return torch's class of a module, which `weight_norm` replaces with a subclass."""
    return type(module).__mro__[1] if _weight_norms(module) else type(module)


def construction(module: nn.Module) -> ast.Call:
    """Return the call that makes the layer, with every setting; see `shortened`."""
    call = _plain_construction(module)
    for name, dim in _weight_norms(module).items():
        settings = {"module": call, "name": syntax.constant(name), "dim": syntax.literal(dim)}
        call = syntax.call("weight_norm")
        call.keywords = [ast.keyword(argument, code) for argument, code in settings.items()]
        on_expression(call).layer = "weight_norm"
    return call


def _plain_construction(module: nn.Module) -> ast.Call:
    kind = _class_of(module).__name__
    call = syntax.call(kind)
    for name, value in _settings(module).items():
        code = numbers.label(syntax.literal(_short(name, value)), name)
        call.keywords.append(ast.keyword(name, code))
    dtype = next((p.dtype for p in module.parameters()), torch.float32)
    if dtype is not torch.float32:
        call.keywords.append(ast.keyword("dtype", syntax.literal(dtype)))
    if _takes_rngs(module):
        call.keywords.append(ast.keyword("rngs", syntax.name("rngs")))
    on_expression(call).layer = kind
    return call


def draws(module: nn.Module) -> bool:
    """Return whether a layer draws numbers when it is called in train mode."""
    made = _made(_class_of(module).__name__, _key(module))
    return made is not None and any(hasattr(m, "rngs") for _, m in nnx.iter_modules(made))


def shortened(node: ast.AST) -> None:
    """Write the calls that make layers in a class without defaults, and without needless names."""
    for call in ast.walk(node):
        kind = on_expression(call).layer
        if not kind or not isinstance(call, ast.Call):
            continue
        parameters = _parameters(kind)
        given = {k.arg: k.value for k in call.keywords}
        for name, value in list(given.items()):
            default = parameters[name or ""].default
            if default is not inspect.Parameter.empty and _is(value, default):
                del given[name]
        required = [n for n, p in parameters.items() if p.default is inspect.Parameter.empty]
        first = required or [n for n in list(parameters)[:1] if n in given]
        call.args = [given.pop(name) for name in first]
        call.keywords = [ast.keyword(k, v) for k, v in given.items()]


def _is(code: ast.expr, value: Any) -> bool:
    try:
        return syntax.same(code, syntax.literal(value))
    except PortError:
        return False


def _key(module: nn.Module) -> tuple[tuple[str, Any], ...]:
    return tuple(_settings(module).items())


@functools.lru_cache(maxsize=4096)
def _made(kind: str, settings: tuple[tuple[str, Any], ...], *, keys: bool = True) -> Any:
    """Return a layer with these settings and no numbers, or None if there is none."""

    def make() -> Any:
        rngs = {"rngs": nnx.Rngs(0)} if keys else {}
        return getattr(jaxgrad.nnx, kind)(**dict(settings), **rngs)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch has given the same ones
            return nnx.eval_shape(make)
    except Exception:  # such as a setting that the layer refuses
        return None


def _settings(module: nn.Module) -> dict[str, Any]:
    """Return the arguments of the layer, from torch's attributes of the same names."""
    name = _class_of(module).__name__
    if name in _TRANSFORMERS:
        return _TRANSFORMERS[name](module)
    found: dict[str, Any] = {}
    for argument in _parameters(name):
        if argument in ("dtype", "rngs"):
            continue
        attribute = _PRESENT.get((name, argument), argument)
        value = getattr(module, attribute, None)
        if attribute != argument or attribute == "bias":
            value = value is not None and value is not False
        same = argument in ("kdim", "vdim") and value == getattr(module, "embed_dim", None)
        found[argument] = None if same else value
    if getattr(module, "weight", 0) is None:
        found.pop("bias", None)  # a norm without parameters
    return found


def _of_transformer_layer(module: Any) -> dict[str, Any]:
    """Return the settings of a layer of a transformer, which only its parts have."""
    attention = module.self_attn
    found = {
        "d_model": attention.embed_dim,
        "nhead": attention.num_heads,
        "dim_feedforward": module.linear1.out_features,
        "dropout": module.dropout.p,
        "layer_norm_eps": module.norm1.eps,
        "batch_first": attention.batch_first,
        "norm_first": module.norm_first,
        "bias": module.linear1.bias is not None,
    }
    if module.activation is nn.functional.gelu:
        found["activation"] = "gelu"
    return found


def _of_transformer(module: Any) -> dict[str, Any]:
    """Return the settings of a transformer with its own encoder and decoder."""
    stacks = (module.encoder, module.decoder)
    if not all(getattr(x, "layers", None) for x in stacks):
        return {"custom_encoder": None}
    counts = [len(stack.layers) for stack in stacks]
    names = ("num_encoder_layers", "num_decoder_layers")
    return {
        **_of_transformer_layer(module.decoder.layers[0]),
        **dict(zip(names, counts, strict=True)),
    }


# Modules whose settings are those of their parts.
_TRANSFORMERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "TransformerEncoderLayer": _of_transformer_layer,
    "TransformerDecoderLayer": _of_transformer_layer,
    "Transformer": _of_transformer,
}


def _is_as_made(module: nn.Module) -> bool:
    """Return whether all parts of a module are those that its settings make."""
    with warnings.catch_warnings(), torch.device("meta"):
        warnings.simplefilter("ignore")
        made = type(module)(**_settings(module))
    own, new = (dict(m.named_modules()) for m in (module, made))
    return own.keys() == new.keys() and all(_alike(own[path], new[path]) for path in own)


def _alike(one: nn.Module, other: nn.Module) -> bool:
    """Return whether two modules have the same type, numbers, names and functions, and no hooks."""
    if one._forward_hooks or one._forward_pre_hooks or one._backward_hooks:
        return False
    simple = (bool, int, float, str, tuple, FunctionType, BuiltinFunctionType)
    plain = [
        {k: v for k, v in vars(m).items() if isinstance(v, simple) and k != "training"}
        for m in (one, other)
    ]
    return type(one) is type(other) and plain[0] == plain[1]


def _parameters(kind: str) -> dict[str, inspect.Parameter]:
    """Return the arguments of a layer's constructor, or of a function such as `weight_norm`."""
    made = getattr(jaxgrad.nnx, kind)
    function = made.__init__ if isinstance(made, type) else made
    parameters = inspect.signature(function).parameters
    return {name: p for name, p in parameters.items() if name != "self"}


def _short(name: str, value: Any) -> Any:
    """Return a kernel of (3, 3) as 3."""
    if not isinstance(value, tuple) or (name == "normalized_shape" and len(value) > 1):
        return value
    sizes = set(value)
    return sizes.pop() if len(sizes) == 1 else value


def _takes_rngs(module: nn.Module) -> bool:
    """Return whether a layer needs keys, for its parameters or for dropout."""
    return draws(module) or _made(_class_of(module).__name__, _key(module), keys=False) is None
