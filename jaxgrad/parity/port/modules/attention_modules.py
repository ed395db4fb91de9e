"""Write nn.MultiheadAttention as projections around attention, with the masks that it gets."""

from __future__ import annotations

import inspect

import torch
from torch import nn

from jaxgrad.parity.port.functions import additions, functions
from jaxgrad.parity.port.modules.attention_source import Attention
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.values import draws
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.value_types import Folded, Items, Module, Tensor, Value
from jaxgrad.parity.port.values.values import code_of, lift, real_of


INPUTS = ("query", "key", "value")
MASKS = ("key_padding_mask", "attn_mask")


def call(
    module: Module, args: list[Value], keywords: dict[str, Value], scope: Scope
) -> Value | None:
    """Interpret a call of multi-head attention on a batch.

    Returns:
        The output, and the weights or None. None alone if the call does more than the written
        function can: torch's own `forward` is then ported.
    """
    real: nn.MultiheadAttention = module.real
    if type(real) is not nn.MultiheadAttention or scope.run.classes is not None:
        return None
    given = inspect.signature(real.forward).bind(*args, **keywords).arguments
    attention = _attention(real, given)
    if attention is None:
        return None
    names = INPUTS[:1] if attention.is_self else INPUTS
    parameters = [PARAMS, *attention.parameters, *([draws.RNG] if attention.drops else [])]
    body, run = draws.filled(syntax.template(attention.lines()), "attention"), scope.run
    written = additions.add(type(real).forward, type(real), parameters, body, run, module.path)
    passed = [code_of(module), *(code_of(given[name]) for name in (*names, *attention.masks))]
    if attention.drops:
        label = functions.key_label(type(real).forward, type(real), module.path)
        passed.append(draws.key(label))
    for path, _ in real.named_parameters():
        run.used.add(f"{module.path}.{path}" if module.path else path)
    code = syntax.call_written(written.name, *passed)
    result = real(**{name: real_of(x) for name, x in given.items()})
    if attention.weights == "no":
        return Items(tuple, None, [Tensor(result[0], code), Folded(None)])
    return lift(result, code)


def _attention(module: nn.MultiheadAttention, given: dict[str, Value]) -> Attention | None:
    """Return what a call does, or None if that is not written here."""
    inputs = [given[name] for name in INPUTS]
    masks = {n: x for n in MASKS if (x := given.get(n)) is not None and x.real is not None}
    tensors = [*inputs, *masks.values()]
    if not all(isinstance(x, Tensor) for x in tensors) or any(x.real.ndim != 3 for x in inputs):
        return None
    if not {name for name, _ in module.named_parameters()} <= _PARAMETERS:
        return None  # one of them is computed from others
    if masks and (module.bias_k is not None or module.add_zero_attn):
        return None
    options = {"need_weights": True, "average_attn_weights": True, "is_causal": False}
    options |= {name: real_of(given[name]) for name in options if name in given}
    is_causal = options["is_causal"] and set(masks) == {"attn_mask"} and not options["need_weights"]
    if is_causal:
        masks = {}  # as in torch, which then does not read the mask
    is_self = all(x.real is inputs[0].real for x in inputs) and module.in_proj_weight is not None
    is_self = is_self and all(syntax.same(code_of(x), code_of(inputs[0])) for x in inputs)
    kind = "average" if options["average_attn_weights"] else "each"
    reals: dict[str, torch.Tensor] = {name: x.real for name, x in masks.items()}
    weights = kind if options["need_weights"] else "no"
    return Attention(module, is_self, reals, is_causal, weights)


_PARAMETERS = {
    "in_proj_weight", "in_proj_bias", "q_proj_weight", "k_proj_weight", "v_proj_weight", "bias_k",
    "bias_v", "out_proj.weight", "out_proj.bias",
}  # fmt: skip
