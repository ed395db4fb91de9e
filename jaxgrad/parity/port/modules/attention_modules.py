"""Write nn.MultiheadAttention as projections around torch's attention, where it is no more."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

from torch import nn

from jaxgrad.parity.port.functions import additions, functions
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.values import draws
from jaxgrad.parity.port.values.kinds_of_values import Folded, Items, Module, Tensor, Value
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.values import code_of, real_of


def call(
    module: Module, args: list[Value], keywords: dict[str, Value], scope: Scope
) -> Value | None:
    """Interpret a call of multi-head attention that returns no weights and has no mask.

    Returns:
        The output and None, or None if the call does more: torch's own `forward` is then ported.
    """
    real: nn.MultiheadAttention = module.real
    if type(real) is not nn.MultiheadAttention or scope.run.classes is not None:
        return None
    given = inspect.signature(real.forward).bind(*args, **keywords).arguments
    inputs = [given[name] for name in ("query", "key", "value")]
    if not _is_plain(real, given) or not all(isinstance(x, Tensor) for x in inputs):
        return None
    if any(x.real.ndim != 3 for x in inputs):
        return None
    codes = [code_of(x) for x in inputs]
    is_self = (
        all(x.real is inputs[0].real for x in inputs) and len(set(map(syntax.text, codes))) == 1
    )
    drops = real.training and real.dropout > 0
    names = ["x"] if is_self else ["query", "key", "value"]
    parameters = ["p", *names, *([draws.RNG] if drops else [])]
    lines = [*_projections(real, is_self), *_attention(real, names[0], drops)]
    tree = ast.parse("\n".join(["def _():", *("    " + line for line in lines)])).body[0]
    assert isinstance(tree, ast.FunctionDef)
    draws.mark_splits(tree.body)
    run = scope.run
    written = additions.add(type(real).forward, type(real), parameters, tree.body, run, module.path)
    passed = [code_of(module), *codes[: len(names)]]
    if drops:
        label = functions.key_label(type(real).forward, type(real), module.path)
        passed.append(draws.key(label))
    for path, _ in real.named_parameters():
        run.used.add(f"{module.path}.{path}" if module.path else path)
    output, _ = real(*map(real_of, inputs), need_weights=False)
    value = Tensor(output, syntax.call_written(written.name, *passed))
    return Items(tuple, None, [value, Folded(None)])


def _is_plain(module: nn.MultiheadAttention, given: dict[str, Value]) -> bool:
    """Return whether a module only projects and attends, without masks and weights to return."""
    options = {k: real_of(v) for k, v in given.items() if k not in ("query", "key", "value")}
    if options.pop("need_weights", True) or module.in_proj_weight is None:
        return False
    if not {name for name, _ in module.named_parameters()} <= _PARAMETERS:
        return False  # one of them is computed from others
    options.pop("average_attn_weights", None)
    extra = module.bias_k is not None or module.bias_v is not None or module.add_zero_attn
    return not extra and all(x is None or x is False for x in options.values())


_PARAMETERS = {"in_proj_weight", "in_proj_bias", "out_proj.weight", "out_proj.bias"}


def _projections(module: nn.MultiheadAttention, is_self: bool) -> Iterator[str]:
    """Yield the lines that compute `q`, `k` and `v`, each `(batch, heads, length, size)`."""
    has_bias = module.in_proj_bias is not None
    swap = "" if module.batch_first else ".swapaxes(0, 1)"
    heads = f"reshape(*y.shape[:2], {module.num_heads}, {module.head_dim}).swapaxes(1, 2)"
    if is_self:
        bias = ', p["in_proj_bias"]' if has_bias else ""
        yield f'qkv = F.linear(x{swap}, p["in_proj_weight"]{bias})'
        yield f"q, k, v = [y.{heads} for y in jnp.split(qkv, 3, axis=-1)]"
        return
    yield 'w_q, w_k, w_v = jnp.split(p["in_proj_weight"], 3)'
    if has_bias:
        yield 'b_q, b_k, b_v = jnp.split(p["in_proj_bias"], 3)'
    for name, letter in (("query", "q"), ("key", "k"), ("value", "v")):
        bias = f", b_{letter}" if has_bias else ""
        yield f"{letter} = F.linear({name}{swap}, w_{letter}{bias})"
    yield f"q, k, v = [y.{heads} for y in (q, k, v)]"


def _attention(module: nn.MultiheadAttention, query: str, drops: bool) -> Iterator[str]:
    dropped = f", dropout_p={module.dropout}, dropout_key=attention_{draws.RNG}" if drops else ""
    if drops:
        yield f"{draws.RNG}, attention_{draws.RNG} = jax.random.split({draws.RNG})"
    yield f"attn_output = F.scaled_dot_product_attention(q, k, v{dropped})"
    swap = "" if module.batch_first else ".swapaxes(0, 1)"
    yield f"attn_output = attn_output.swapaxes(1, 2).reshape({query}{swap}.shape)"
    yield f'return F.linear(attn_output, **p["out_proj"]){swap}'
