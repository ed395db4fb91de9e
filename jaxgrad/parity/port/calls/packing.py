"""Packed sequences: the port keeps them padded, and masks them by their lengths."""

from __future__ import annotations

import ast
import inspect
from typing import Any

from torch.nn.utils import rnn

from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.values.scope import CallSite, Scope, Special
from jaxgrad.parity.port.values.value_types import Folded, Items, Packed, Tensor, Value
from jaxgrad.parity.port.values.values import code_of, real_of


def _arguments(function: Any, site: CallSite) -> dict[str, Value]:
    return inspect.signature(function).bind(*site.args, **site.keywords).arguments


def pack(site: CallSite) -> Value:
    """Interpret `pack_padded_sequence(input, lengths)`."""
    given = _arguments(rnn.pack_padded_sequence, site)
    source, lengths = given["input"], given["lengths"]
    if not isinstance(source, Tensor):
        raise site.refuse(
            "pack_padded_sequence of something that is not a tensor; pass a padded tensor"
        )
    real = rnn.pack_padded_sequence(**{name: real_of(x) for name, x in given.items()})
    first = bool(real_of(given.get("batch_first", Folded(False))))
    steps = source.real.shape[1 if first else 0]
    return Packed(real, code_of(source), lengths, first, steps, site.scope)


def pad(site: CallSite) -> Value:
    """Interpret `pad_packed_sequence(sequence)`: what is after the end of a sequence is padding.

    Raises:
        PortError: The longest sequence is shorter than the padded ones were, and `total_length=`
            is not given, so that the number of steps depends on values.
    """
    given = _arguments(rnn.pad_packed_sequence, site)
    packed, scope = given["sequence"], site.scope
    if not isinstance(packed, Packed):
        raise site.refuse(
            "pad_packed_sequence of what pack_padded_sequence has not made"
            "; pad in the function that packs"
        )
    real, lengths = rnn.pad_packed_sequence(**{name: real_of(x) for name, x in given.items()})
    first = bool(real_of(given.get("batch_first", Folded(False))))
    if real.shape[1 if first else 0] != packed.steps:
        raise site.refuse(
            "pad_packed_sequence returns as many steps as the longest sequence has, which depends "
            "on values; pass total_length="
        )
    if real_of(given.get("total_length", Folded(None))) is None:
        scope.assume(site.node, f"the longest sequence has all {packed.steps} steps")
    code = code_of(packed)
    if packed.batch_first != first:
        code = syntax.call(syntax.attribute(code, "swapaxes"), *map(syntax.constant, (0, 1)))
    code = scope.once(code, "padded")
    counts = scope.once(length_code(packed, scope, site.node), "lengths")
    padding = given.get("padding_value", Folded(0.0))
    code = syntax.call("jnp.where", _exists(code, counts, first), code, code_of(padding))
    return Items(tuple, None, [Tensor(real, code), Tensor(lengths, counts)])


def length_code(packed: Packed, scope: Scope, node: ast.AST) -> ast.expr:
    """Return the lengths of the sequences as an array of the port.

    Raises:
        PortError: The lengths have their name in another function.
    """
    if packed.scope is not scope:
        raise scope.refuse(
            "a packed sequence that another function has made; pack it where it is used", node
        )
    code = code_of(packed.lengths)
    return code if isinstance(packed.lengths, Tensor) else syntax.call_helper(Helper.ARRAY, code)


def _exists(padded: ast.expr, lengths: ast.expr, batch_first: bool) -> ast.expr:
    """Return which steps are before the end of their sequence, for each feature."""
    steps = syntax.call("jnp.arange", syntax.item(syntax.shape(padded), 1 if batch_first else 0))
    batch_last = "steps[:, None, None] < lengths[:, None]"
    text = "steps[:, None] < lengths[:, None, None]" if batch_first else batch_last
    code = ast.parse(text, mode="eval").body
    return syntax.substitute(code, {"steps": steps, "lengths": lengths})


SPECIAL: dict[Any, Special] = {rnn.pack_padded_sequence: pack, rnn.pad_packed_sequence: pad}
