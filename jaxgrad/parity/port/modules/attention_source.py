"""The lines of multi-head attention: projections, masks, attention and the output."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping

import torch
from torch import nn

from jaxgrad.parity.port.values import draws


@dataclasses.dataclass(frozen=True)
class Attention:
    """What one call of nn.MultiheadAttention does.

    Attributes:
        module: The module.
        is_self: Whether the query is also the key and the value.
        masks: The masks that are passed, by the names of torch's arguments.
        is_causal: Whether later positions are excluded without a mask.
        weights: "no", "average" over the heads, or "each" head.
    """

    module: nn.MultiheadAttention
    is_self: bool
    masks: Mapping[str, torch.Tensor]
    is_causal: bool
    weights: str

    @property
    def parameters(self) -> list[str]:
        """The names of the tensors that the function takes."""
        return [*(["x"] if self.is_self else ["query", "key", "value"]), *self.masks]

    @property
    def drops(self) -> bool:
        return self.module.training and self.module.dropout > 0

    def lines(self) -> Iterator[str]:
        yield from self._projections()
        if self.weights == "no":
            yield from self._attention()
        else:
            yield from self._attention_with_weights()
        swap = self._swap
        yield f"attn_output = attn_output.swapaxes(1, 2).reshape({self.parameters[0]}{swap}.shape)"
        output = f'F.linear(attn_output, **p["out_proj"]){swap}'
        weights = {
            "no": "", "each": ", attn_output_weights",
            "average": ", attn_output_weights.mean(axis=1)",
        }  # fmt: skip
        yield f"return {output}{weights[self.weights]}"

    @property
    def _swap(self) -> str:
        return "" if self.module.batch_first else ".swapaxes(0, 1)"

    def _projections(self) -> Iterator[str]:
        """Yield the lines that compute `q`, `k` and `v`, each `(batch, heads, length, size)`."""
        module, swap = self.module, self._swap
        has_bias = module.in_proj_bias is not None
        parts = "q, k, v"
        if self.is_self:
            bias = ', p["in_proj_bias"]' if has_bias else ""
            yield f'qkv = F.linear(x{swap}, p["in_proj_weight"]{bias})'
            parts = "jnp.split(qkv, 3, axis=-1)"
        else:
            is_packed = module.in_proj_weight is not None
            if is_packed:
                yield 'w_q, w_k, w_v = jnp.split(p["in_proj_weight"], 3)'
            if has_bias:
                yield 'b_q, b_k, b_v = jnp.split(p["in_proj_bias"], 3)'
            for name, letter in (("query", "q"), ("key", "k"), ("value", "v")):
                weight = f"w_{letter}" if is_packed else f'p["{letter}_proj_weight"]'
                bias = f", b_{letter}" if has_bias else ""
                yield f"{letter} = F.linear({name}{swap}, {weight}{bias})"
        if module.bias_k is not None or module.add_zero_attn:
            if self.is_self:
                yield f"q, k, v = {parts}"
            yield from self._more_keys()
            parts = "q, k, v"
        heads = f"reshape(*y.shape[:2], {module.num_heads}, -1).swapaxes(1, 2)"
        yield f"q, k, v = [y.{heads} for y in {f'({parts})' if parts == 'q, k, v' else parts}]"

    def _more_keys(self) -> Iterator[str]:
        """Yield the lines that add a learned key and value, and zeros."""
        if self.module.bias_k is not None:
            for letter in ("k", "v"):
                bias = f'jnp.tile(p["bias_{letter}"], ({letter}.shape[0], 1, 1))'
                yield f"{letter} = jnp.concatenate([{letter}, {bias}], axis=1)"
        if self.module.add_zero_attn:
            yield "k, v = [jnp.pad(y, ((0, 0), (0, 1), (0, 0))) for y in (k, v)]"

    def _attention(self) -> Iterator[str]:
        """Yield the lines of attention without its weights."""
        mask = self._mask("sum")
        if self.masks and all(x.dtype is torch.bool for x in self.masks.values()):
            mask = f"~({self._mask('bool')})" if len(self.masks) > 1 else f"~{self._mask('bool')}"
        if len(self.masks) > 1:
            yield f"mask = {mask}"
            mask = "mask"
        options = f", attn_mask={mask}" if self.masks else ""
        if self.is_causal:
            options += ", is_causal=True"
        if self.drops:
            options += f", dropout_p={self.module.dropout}, dropout_key={draws.KEY}"
        yield f"attn_output = F.scaled_dot_product_attention(q, k, v{options})"

    def _attention_with_weights(self) -> Iterator[str]:
        mask = self._mask("sum")
        if len(self.masks) > 1:
            yield f"mask = {mask}"
            mask = "mask"
        yield "scale = q.shape[-1]**-0.5"
        scores = "(q * scale) @ k.mT"
        yield f"scores = {scores} + {mask}" if self.masks else f"scores = {scores}"
        yield "attn_output_weights = jax.nn.softmax(scores, axis=-1)"
        if self.drops:
            dropped = f"F.dropout(attn_output_weights, {self.module.dropout}, key={draws.KEY})"
            yield f"attn_output_weights = {dropped}"
        yield "attn_output = attn_output_weights @ v"

    def _mask(self, form: str) -> str:
        """Return the masks as one: boolean, True where excluded, or a sum with -inf there."""
        texts = {name: self._spread(name) for name in self.masks}
        boolean = [texts[n] for n, x in self.masks.items() if x.dtype is torch.bool]
        either = " | ".join(boolean)
        if form == "bool":
            return either
        dtype = "" if self.weights != "no" else ".astype(q.dtype)"
        terms = [f"jnp.where({either}, -jnp.inf, 0.0){dtype}"] if boolean else []
        terms += [texts[n] for n, x in self.masks.items() if x.dtype is not torch.bool]
        return " + ".join(terms)

    def _spread(self, name: str) -> str:
        """Return a mask with the dims of the scores: `(batch, heads, query, key)`."""
        if name == "key_padding_mask":
            return f"{name}[:, None, None, :]"
        if self.masks[name].ndim == 2:
            return name
        return f"{name}.reshape(-1, {self.module.num_heads}, *{name}.shape[1:])"
