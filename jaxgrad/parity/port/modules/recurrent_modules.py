"""Write nn.RNN, nn.GRU and nn.LSTM as scans over torch's cells."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from torch import nn

from jaxgrad.parity.port.functions import additions, functions
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.values import draws
from jaxgrad.parity.port.values.kinds_of_values import Folded, Items, Module, Tensor, Value
from jaxgrad.parity.port.values.scope import Scope
from jaxgrad.parity.port.values.values import code_of, lift, real_of


_CELLS = {
    "RNN_TANH": "F.rnn_tanh_cell",
    "RNN_RELU": "F.rnn_relu_cell",
    "GRU": "F.gru_cell",
    "LSTM": "F.lstm_cell",
}


def call(
    module: Module, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Value:
    """Interpret the call of a recurrent module.

    Raises:
        PortError: The input is packed or has no batch, or the module projects its state.
    """
    real: nn.RNNBase = module.real
    given = dict(zip(("input", "hx"), args, strict=False)) | keywords
    source, start = given["input"], given.get("hx", Folded(None))
    name = type(real).__name__
    if not isinstance(source, Tensor):
        raise scope.refuse(f"a packed sequence in {name}; pass a padded one and mask it", node)
    if source.real.ndim != 3 or real.proj_size:
        raise scope.refuse(f"{name} without a batch or with a projection is not ported", node)
    result = real(source.real, real_of(start))
    drops = bool(real.dropout and real.training and real.num_layers > 1)
    has_start = start.real is not None
    lines = [*_body(real, has_start, drops)]
    parameters = ["p", "x", *(["start"] if has_start else []), *([draws.RNG] if drops else [])]
    tree = ast.parse("\n".join(["def _():", *("    " + line for line in lines)])).body[0]
    assert isinstance(tree, ast.FunctionDef)
    draws.mark_splits(tree.body)
    written = additions.add(
        type(real).forward, type(real), parameters, tree.body, scope.run, module.path
    )
    passed = [code_of(module), code_of(source)]
    passed += [code_of(start)] if has_start else []
    if drops:
        label = functions.key_label(type(real).forward, type(real), module.path)
        passed.append(draws.key(label))
    code = syntax.call_written(written.name, *passed)
    for path, _ in real.named_parameters():
        scope.run.used.add(f"{module.path}.{path}" if module.path else path)
    out, final = result
    if not isinstance(final, tuple):
        return lift((out, final), code)
    parts = [lift(out, syntax.item(code, 0)), lift(final, syntax.item(code, 1))]
    return Items(tuple, code, parts)


def _body(module: nn.RNNBase, has_start: bool, drops: bool) -> Iterator[str]:
    """Yield the lines of the function: a scan for each layer and direction."""
    is_lstm = module.mode == "LSTM"
    if module.batch_first:
        yield "x = x.swapaxes(0, 1)"
    directions = ("", "_reverse") if module.bidirectional else ("",)
    suffixes = [f"l{n}{d}" for n in range(module.num_layers) for d in directions]
    if not has_start:
        size = f"({len(suffixes)}, x.shape[1], {module.hidden_size})"
        zeros = f"jnp.zeros({size}, x.dtype)"
        yield f"start = {zeros}, {zeros}" if is_lstm else f"start = {zeros}"
    several = len(suffixes) > 1
    yield from _scan(module) if several else _step(module, 'p["{}_l0"]')
    for number, suffix in enumerate(suffixes):
        if number % len(directions) == 0 and number and drops:
            yield f"{draws.RNG}, dropout_{draws.RNG} = jax.random.split({draws.RNG})"
            yield f"x = F.dropout(x, {module.dropout}, key=dropout_{draws.RNG})"
        start = f"(start[0][{number}], start[1][{number}])" if is_lstm else f"start[{number}]"
        if not several:
            yield f"end_l0, x = lax.scan(step, {start}, x)"
            continue
        out = f"out_{suffix}" if module.bidirectional else "x"
        reverse = ", reverse=True" if suffix.endswith("_reverse") else ""
        yield f'end_{suffix}, {out} = scan("{suffix}", {start}, x{reverse})'
        if reverse:
            yield f"x = jnp.concatenate([out_l{number // 2}, out_{suffix}], axis=-1)"
    if module.batch_first:
        yield "x = x.swapaxes(0, 1)"
    ends = ", ".join(f"end_{s}" for s in suffixes)
    if not is_lstm:
        yield f"return x, jnp.stack([{ends}])" if several else "return x, end_l0[None]"
        return
    yield f"hidden, cell = zip({ends})" if several else "hidden, cell = end_l0"
    if several:
        yield "return x, (jnp.stack(hidden), jnp.stack(cell))"
    else:
        yield "return x, (hidden[None], cell[None])"


def _names(module: nn.RNNBase) -> list[str]:
    return ["weight_ih", "weight_hh", *(["bias_ih", "bias_hh"] if module.bias else [])]


def _scan(module: nn.RNNBase) -> Iterator[str]:
    """Yield the function that runs one layer in one direction."""
    options = ", reverse=False" if module.bidirectional else ""
    names = ", ".join(f'"{name}_"' for name in _names(module))
    yield f"def scan(suffix, state, x{options}):"
    yield f"    weights = [p[name + suffix] for name in ({names})]"
    yield from (f"    {line}" for line in _step(module, "*weights"))
    yield f"    return lax.scan(step, state, x{', reverse=reverse' if options else ''})"


def _step(module: nn.RNNBase, weight: str) -> Iterator[str]:
    """Yield the function of one time step; `weight` is the code of a weight of a given name."""
    weights = ", ".join(dict.fromkeys(weight.format(name) for name in _names(module)))
    yield "def step(state, x):"
    yield f"    state = {_CELLS[module.mode]}(x, state, {weights})"
    yield f"    return state, {'state[0]' if module.mode == 'LSTM' else 'state'}"
