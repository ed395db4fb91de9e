"""Every mistake is named where it was made, if torch with this mistake has all outputs of JAX."""

import itertools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from jax import lax
from torch import Tensor, nn
from torch.nn import functional

from jaxgrad.parity import prove
from jaxgrad.parity.prove.causes.forward import Search, enlarged
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.record import adapters
from jaxgrad.parity.prove.report import Finding, Report
from tests.jaxgrad.parity.prove._helpers import arrays, draw
from tests.jaxgrad.parity.prove.surfaces._models import Row, proved


ONES = np.tril(np.ones((6, 6), bool))
LOWER = torch.tensor(ONES)
ATTENTION: Any = functional.scaled_dot_product_attention


def normed(x: Any, eps: float = 1e-5, axis: int = -1) -> Any:
    mean, var = x.mean(axis, keepdims=True), x.var(axis, keepdims=True)
    return (x - mean) / jnp.sqrt(var + eps)


def convolved(x: Any, kernel: Any, **options: Any) -> Any:
    options = {"window_strides": (1, 1), "padding": "VALID"} | options
    return lax.conv_general_dilated(x.reshape(1, 1, 4, 6), kernel, **options)


def pooled(x: Any, init: float, combine: Any, pad: int = 0) -> Any:
    return lax.reduce_window(x, init, combine, (1, 2), (1, 2), [(0, 0), (pad, pad)])


def attention(
    q: Any, k: Any, v: Any, seen: Any = True, scale: float = 6**-0.5, fill: float = -np.inf
) -> Any:
    return jax.nn.softmax(jnp.where(seen, q @ k.T * scale, fill)) @ v


def gru(x: Tensor, weights: Sequence[Tensor]) -> Tensor:
    options = (True, 1, 0.0, False, False, True)
    return torch.gru(x[None], x.new_zeros(1, 1, 3), list(weights), *options)[0]


def unrolled(
    x: Any, w: Any, u: Any, b: Any, c: Any, order: Any = (0, 1, 2), before: bool = False
) -> Any:
    """Compute a GRU with its gates in an order, or with the reset gate before the weight."""
    h, states = jnp.zeros(3, x.dtype), []
    for xs in x:
        parts = [jnp.split(y, 3) for y in (w @ xs + b, u @ h + c)]
        (ri, zi, ni), (rh, zh, nh) = ([y[k] for k in order] for y in parts)
        r, z = jax.nn.sigmoid(ri + rh), jax.nn.sigmoid(zi + zh)
        inner = jnp.split(u, 3)[2] @ (r * h) + jnp.split(c, 3)[2] if before else r * nh
        h = (1 - z) * jnp.tanh(ni + inner) + z * h
        states.append(h)
    return jnp.stack(states)


ROWS = [
    Row(
        "eps",
        lambda x: functional.layer_norm(x, (6,)),
        lambda x: normed(x, 3e-5),
        "eps is 3e-05, torch uses 1e-05",
        "layer_norm",
        "div",
    ),
    Row(
        "a number that is added",
        lambda x: torch.log(x * x + 0.1),
        lambda x: jnp.log(x * x + 0.01),
        "0.01 is added, torch adds 0.1",
        "add",
        "add",
    ),
    Row(
        "a number",
        lambda x: (0.25 * x.exp()).sin(),
        lambda x: jnp.sin(0.37 * jnp.exp(x)),
        "the number in mul is 0.37, torch uses 0.25",
        "mul",
        "mul",
    ),
    Row(
        "a named number",
        lambda x: functional.celu(x, alpha=0.5),
        lambda x: jax.nn.celu(x, 0.3),
        "alpha is 0.3, torch uses 0.5",
        "celu",
        "add",
    ),
    Row(
        "a slope",
        lambda x: functional.leaky_relu(x, 0.2),
        lambda x: jax.nn.leaky_relu(x, 0.07),
        "negative_slope is 0.07, torch uses 0.2",
        "leaky_relu",
        "select_n",
    ),
    Row(
        "a bound",
        lambda x: x.clamp(-0.5, 1.5),
        lambda x: jnp.clip(x, -0.5, 1.0),
        "clamp has the minimum -0.5 and the maximum 1, torch's has the minimum -0.5 "
        "and the maximum 1.5",
        "clamp",
        "min",
    ),
    Row(
        "activation",
        functional.softplus,
        jax.nn.silu,
        "the activation is silu, torch uses softplus",
        "softplus",
        "mul",
    ),
    Row(
        "gelu",
        functional.gelu,
        jax.nn.gelu,
        "GELU is the tanh approximation, torch uses the exact form",
        "gelu",
        "mul",
    ),
    Row(
        "elementwise function",
        lambda x: x.sin(),
        jnp.cos,
        "the function is cos, torch uses sin",
        "sin",
        "cos",
    ),
    Row(
        "operation",
        lambda x: x.exp() - x.sin(),
        lambda x: jnp.exp(x) + jnp.sin(x),
        "JAX adds, torch subtracts",
        "sub",
        "add",
    ),
    Row(
        "operands of an operation",
        lambda x: x.exp() - x.sin(),
        lambda x: jnp.sin(x) - jnp.exp(x),
        "the operands of sub are swapped",
        "sub",
        "sub",
    ),
    Row(
        "a missing function",
        lambda x: torch.sin(x.exp()) + x,
        lambda x: jnp.exp(x) + x,
        "torch's sin is missing",
        "sin",
        "add",
    ),
    Row(
        "a term",
        lambda x: x.exp() - x.sin(),
        jnp.exp,
        "a term of the sum is missing: the result of sin, which torch's sub reads",
        "sub",
        "exp",
    ),
    Row(
        "a term with fewer axes",
        lambda x: (1e-2 * x.logsumexp(-1, keepdim=True) ** 2) + x.exp(),
        jnp.exp,
        "a term of the sum is missing: the result of mul, which torch's add reads",
        "add",
        "exp",
    ),
    Row(
        "order of two functions",
        lambda x: x.exp().sin(),
        lambda x: jnp.exp(jnp.sin(x)),
        "sin comes before exp, torch calls exp first",
        "exp",
        "sin",
    ),
    Row(
        "another operand",
        lambda x, u, v: (x * u).sin() - (x + v).cos(),
        lambda x, u, v: jnp.sin(x * u) - jnp.cos(x * u),
        "JAX's cos reads the result of mul, torch's reads the result of add",
        "cos",
        "cos",
        (
            (6,),
            (6,),
        ),
    ),
    Row(
        "multiple",
        lambda x: x.exp().sin(),
        lambda x: 1.7 * jnp.sin(jnp.exp(x)),
        "JAX's value is torch's times 1.7",
        "sin",
        "mul",
    ),
    Row(
        "reduction",
        lambda x: x.exp().mean(-1),
        lambda x: jnp.sum(jnp.exp(x), -1),
        "the reduction is sum, torch uses mean",
        "mean",
        "reduce_sum",
    ),
    Row(
        "dimension of a reduction",
        lambda x: x.exp().sum(1, keepdim=True) * x,
        lambda x: jnp.sum(jnp.exp(x), 0, keepdims=True) * x,
        "sum is over dim 0, torch uses 1",
        "sum",
        "reduce_sum",
    ),
    Row(
        "dimension",
        lambda x: x.softmax(-1),
        lambda x: jax.nn.softmax(x, 0),
        "softmax is over dim 0, torch uses -1",
        "softmax",
        "div",
    ),
    Row(
        "divisor",
        lambda x: x.var(-1),
        lambda x: x.var(-1),
        "var divides by N, torch divides by N - 1",
        "var",
        "div",
    ),
    Row(
        "running sum",
        lambda x: x.exp().cumsum(-1),
        lambda x: jnp.cumsum(jnp.exp(x)[:, ::-1], -1)[:, ::-1],
        "cumsum runs backwards",
        "cumsum",
        "cumsum",
    ),
    Row(
        "loss",
        lambda x: functional.mse_loss(x, x.exp()),
        lambda x: jnp.sum((x - jnp.exp(x)) ** 2),
        "the loss is reduced by sum, torch uses mean",
        "mse_loss",
        "reduce_sum",
    ),
    Row(
        "masked elements",
        lambda x: (x.T @ x.sin()).masked_fill(~LOWER, -20.0).softmax(-1),
        lambda x: jax.nn.softmax(jnp.where(ONES, x.T @ jnp.sin(x), -2.0)),
        "masked elements are -2, torch uses -20",
        "masked_fill",
        "select_n",
    ),
    Row(
        "inverted mask",
        lambda x: x.masked_fill(LOWER[3], 0.5),
        lambda x: jnp.where(ONES[3], x, 0.5),
        "the mask is inverted",
        "masked_fill",
        "select_n",
    ),
    Row(
        "transposed mask",
        lambda x: (x.T @ x.sin()).masked_fill(~LOWER, -1e9).softmax(-1),
        lambda x: jax.nn.softmax(jnp.where(ONES.T, x.T @ jnp.sin(x), -1e9)),
        "the mask is transposed",
        "masked_fill",
        "select_n",
    ),
    Row(
        "transposed factor",
        lambda x: (x.T @ x.sin()) * LOWER.to(x.dtype),
        lambda x: (x.T @ jnp.sin(x)) * ONES.T,
        "the mask is transposed",
        "mul",
        "mul",
    ),
    Row(
        "branches",
        lambda x: torch.where(x > 0, x.sin(), x.exp()),
        lambda x: jnp.where(x > 0, jnp.exp(x), jnp.sin(x)),
        "the branches of where are swapped",
        "where",
        "select_n",
    ),
    Row(
        "heads",
        lambda x: x.exp().view(4, 2, 3).sum(1),
        lambda x: jnp.exp(x).reshape(4, 3, 2).sum(2),
        "the last axis is split with its two factors exchanged (heads and their size)",
        "view",
        "exp",
    ),
    Row(
        "flattened",
        lambda x: x.view(1, 4, 3, 2).flatten(1),
        lambda x: x.reshape(1, 4, 3, 2).transpose(0, 2, 3, 1).reshape(1, -1),
        "the channels are flattened last, torch flattens them first",
        "flatten",
        "reshape",
    ),
    Row(
        "transpose",
        lambda x: x.sin().transpose(0, 1),
        lambda x: jnp.sin(x).reshape(6, 4),
        "the array is reshaped where torch's transpose moves the axes",
        "transpose",
        "reshape",
    ),
    Row(
        "tiled",
        lambda x: x.exp().repeat_interleave(2, 1),
        lambda x: jnp.tile(jnp.exp(x), (1, 2)),
        "the elements are tiled, torch repeats each one",
        "repeat_interleave",
        "dot_general",
    ),
    Row(
        "joined",
        lambda x: torch.cat([x.sin(), x.exp()], -1),
        lambda x: jnp.concatenate([jnp.exp(x), jnp.sin(x)], -1),
        "the operands of cat are in another order: 1, 0",
        "cat",
        "concatenate",
    ),
    Row(
        "element",
        lambda x: x[:, -1].exp(),
        lambda x: jnp.exp(x[:, 0]),
        "index 1 takes the first element, torch the last",
        "getitem",
        "slice",
    ),
    Row(
        "ids",
        lambda x, table: functional.embedding(torch.tensor([0, 1, 1, 1]), table) * x,
        lambda x, table: table[np.array([1, 0, 0, 0])] * x,
        "the indices 0 and 1 are swapped",
        "embedding",
        "gather",
        ((2, 6),),
    ),
    Row(
        "product",
        lambda x: x.sin() @ (x.T @ x.exp()),
        lambda x: jnp.sin(x) @ (x.T @ jnp.exp(x)).T,
        "the second operand is transposed",
        "matmul",
        "dot_general",
    ),
    Row(
        "operands of a product",
        lambda x: (x.T @ x.sin()) @ (x.T @ x.exp()),
        lambda x: (x.T @ jnp.exp(x)) @ (x.T @ jnp.sin(x)),
        "the operands are swapped",
        "matmul",
        "dot_general",
    ),
    Row(
        "linear",
        functional.linear,
        lambda x, w, b: x @ w + b,
        "the square weight is transposed",
        "linear",
        "add",
        (
            (6, 6),
            (6,),
        ),
    ),
    Row(
        "bias",
        functional.linear,
        lambda x, w, b: x @ w.T,
        "the bias is missing",
        "linear",
        "dot_general",
        (
            (3, 6),
            (3,),
        ),
    ),
    Row(
        "conv",
        lambda x, k: functional.conv2d(x.view(1, 1, 4, 6), k),
        lambda x, k: convolved(x, k[..., ::-1, ::-1]),
        "the kernel is flipped",
        "conv2d",
        "conv_general_dilated",
        ((2, 1, 2, 2),),
    ),
    Row(
        "padding",
        lambda x, k: functional.conv2d(x.view(1, 1, 4, 6), k, stride=2, padding=1),
        lambda x, k: convolved(x, k, window_strides=(2, 2), padding="SAME"),
        "the padding is 'SAME' (0 before and 1 after), torch pads each side by 1",
        "conv2d",
        "conv_general_dilated",
        ((2, 1, 3, 3),),
    ),
    Row(
        "transposed conv",
        lambda x, k: functional.conv_transpose2d(x.view(1, 1, 4, 6), k),
        lambda x, k: convolved(x, k.swapaxes(0, 1), padding=[(1, 1), (1, 1)]),
        "the kernel is flipped",
        "conv_transpose2d",
        "conv_general_dilated",
        ((1, 2, 2, 2),),
    ),
    Row(
        "batch norm",
        lambda x, m, v: functional.batch_norm(x, m.detach(), v.detach().abs() + 1),
        lambda x, m, v: normed(x, axis=0),
        "the port normalises with the batch's statistics, torch with the running "
        "statistics, because torch's module is in eval mode",
        "batch_norm",
        "div",
        (
            (6,),
            (6,),
        ),
    ),
    Row(
        "group norm",
        lambda x: functional.group_norm(x, 3),
        normed,
        "there is 1 group, torch uses 3",
        "group_norm",
        "div",
    ),
    Row(
        "scale of a norm",
        lambda x, w, b: functional.layer_norm(x, (6,), w, b),
        lambda x, w, b: normed(x) * w,
        "the norm's bias is missing",
        "layer_norm",
        "mul",
        (
            (6,),
            (6,),
        ),
    ),
    Row(
        "average pool",
        lambda x: functional.avg_pool1d(x, 2, padding=1),
        lambda x: pooled(x, 0.0, lax.add, 1) / np.array([1.0, 2.0, 2.0, 1.0]),
        "count_include_pad is False, torch uses True",
        "avg_pool1d",
        "div",
    ),
    Row(
        "max pool",
        lambda x: functional.avg_pool1d(x, 2),
        lambda x: pooled(x, -jnp.inf, lax.max),
        "the pool is max_pool1d, torch uses avg_pool1d",
        "avg_pool1d",
        "reduce_window_max",
    ),
    Row(
        "dropout",
        lambda x: functional.dropout(x, 0.25),
        lambda x: jnp.where(jax.random.bernoulli(jax.random.key(0), 0.6, x.shape), x / 0.6, 0),
        "the dropout rate is 0.4, torch uses 0.25",
        "dropout",
        "select_n",
    ),
    Row(
        "scale of attention",
        lambda x: ATTENTION(x, x.sin(), x.exp()),
        lambda x: attention(x, jnp.sin(x), jnp.exp(x), scale=1 / 6),
        "the scale is 1/d",
        "scaled_dot_product_attention",
        "dot_general",
    ),
    Row(
        "mask of attention",
        lambda x: ATTENTION(x, x.sin(), x.exp(), is_causal=True),
        lambda x: attention(x, jnp.sin(x), jnp.exp(x)),
        "the attention mask is missing",
        "scaled_dot_product_attention",
        "dot_general",
    ),
    Row(
        "masked scores",
        lambda x: ATTENTION(x, x.sin(), x.exp(), is_causal=True),
        lambda x: attention(x, jnp.sin(x), jnp.exp(x), ONES[:4, :4], fill=-3.0),
        "masked elements are -3, torch uses -inf",
        "the masked scores",
        "select_n",
    ),
    Row(
        "operands of attention",
        lambda x: ATTENTION(x, x.sin(), x.exp()),
        lambda x: attention(x, jnp.exp(x), jnp.sin(x)),
        "k and v are swapped",
        "scaled_dot_product_attention",
        "dot_general",
    ),
    Row(
        "gates",
        lambda x, *w: gru(x, w),
        lambda x, *w: unrolled(x, *w, order=(1, 0, 2)),
        "the gates are ordered update, reset, new; torch's order is reset, update, new",
        "gru",
        "stack",
        (
            (9, 6),
            (9, 3),
            (9,),
            (9,),
        ),
    ),
    Row(
        "reset gate",
        lambda x, *w: gru(x, w),
        lambda x, *w: unrolled(x, *w, before=True),
        "the reset gate multiplies the state before its weight; in torch it multiplies the product",
        "gru",
        "stack",
        (
            (9, 6),
            (9, 3),
            (9,),
            (9,),
        ),
    ),
]


def forward(report: Report) -> tuple[Finding, ...]:
    """Return where the forward passes differ, with causes that are confirmed."""
    found = report.surfaces["forward"].findings
    assert found and all(finding.tested for finding in found), report
    return found


def told(finding: Finding) -> str:
    """Return a cause without the sentence on how it was tested."""
    return finding.cause.rpartition(" (")[0]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_mistake_is_the_confirmed_cause(row):
    """The report names the mistake, the call of torch and the place in the port."""
    (finding,) = forward(proved(row.torch, row.jax, *row.shapes))

    assert told(finding) == row.cause
    assert finding.op == row.op
    assert finding.jax.endswith(f"({row.place})")


def test_the_place_is_the_line_of_the_mistake():
    """The lines of both programs are named."""

    def port(x: Any) -> Any:
        y = jnp.exp(x)
        return jnp.cos(y)

    (finding,) = forward(proved(lambda x: x.exp().sin(), port))
    line = port.__code__.co_firstlineno + 2
    assert finding.jax == f"test_forward.py:{line} (cos)"
    assert finding.source.endswith("return jnp.cos(y)")
    assert finding.torch_line.startswith("test_forward.py:")
    assert finding.cause.endswith("(rerunning torch with this change reproduces JAX's outputs)")


SEVERAL = [
    (
        lambda x: functional.softplus(x.sin() @ x.T).std(-1),
        lambda x: jax.nn.softplus(jnp.cos(x) @ x.T).std(-1),
        ["the function is cos, torch uses sin", "std divides by N, torch divides by N - 1"],
    ),
    (
        lambda x: functional.leaky_relu(functional.softplus(x.sin() @ x.T) @ x - 1, 0.2),
        lambda x: jax.nn.leaky_relu(jax.nn.silu(jnp.cos(x) @ x.T) @ x - 1, 0.07),
        [
            "the function is cos, torch uses sin",
            "the activation is silu, torch uses softplus",
            "negative_slope is 0.07, torch uses 0.2",
        ],
    ),
]


@pytest.mark.parametrize(("torch_function", "jax_function", "causes"), SEVERAL)
def test_several_mistakes_are_found_one_after_the_other(torch_function, jax_function, causes):
    """Each mistake is a finding of its own, in the order of the program."""
    *before, last = found = forward(proved(torch_function, jax_function))

    assert [told(finding) for finding in found] == causes
    below = "the change below" if len(found) == 2 else "the changes below"
    assert before[0].cause.endswith(f"JAX's value here, and with {below} its outputs)")
    assert last.cause.endswith("reproduces JAX's outputs)")


def test_a_mistake_in_the_gradients_is_found_after_one_in_the_outputs():
    """The gradients are judged in a torch that makes the mistake of the forward pass too."""
    report = proved(
        lambda x: (x.sin() @ x.T).exp().detach() * x.cos().sum(-1),
        lambda x: jnp.exp(jnp.cos(x) @ x.T) * jnp.cos(x).sum(-1),
    )
    (finding,) = forward(report)
    assert told(finding) == "the function is cos, torch uses sin"

    surface = report.surfaces["gradients"]
    assert surface.text.startswith("with the same mistake in torch's forward pass: 2 of 3")
    assert surface.findings[0].tested
    assert surface.findings[0].cause.startswith("torch stops the gradient at test_forward.py:")


def test_a_mistake_in_the_updates_is_found_after_one_in_the_outputs():
    """The updates are judged in a torch that makes the mistake of the forward pass too."""
    report = proved(
        lambda x: (x.sin() @ x.T).sin(),
        lambda x: jnp.sin(jnp.cos(x) @ x.T),
        optimizer=(lambda weights: torch.optim.Adam(weights, 0.1), optax.adam(0.1, b1=0.8)),
        steps=3,
    )
    (finding,) = forward(report)
    assert told(finding) == "the function is cos, torch uses sin"
    assert report.surfaces["gradients"].verdict == "pass"

    surface = report.surfaces["updates"]
    assert surface.verdict == "fail" and surface.findings[0].tested
    assert told(surface.findings[0]) == "beta1 is 0.8, torch uses 0.9"


def test_a_mistake_in_all_calls_of_one_line_is_named_once():
    """The port has a function for a line of torch that calls the activation twice."""
    (finding,) = forward(
        proved(
            lambda x: functional.softplus(functional.softplus(x) @ x.T - 1) @ x,
            lambda x: jax.nn.silu(jax.nn.silu(x) @ x.T - 1) @ x,
        )
    )
    assert told(finding) == "the activation is silu, torch uses softplus"
    assert "JAX's outputs if all 2 calls at test_forward.py:" in finding.cause


def test_a_column_that_is_broadcast_against_a_batch_is_named():
    """The loss has the same value whichever operand is the column; the value of JAX tells it."""
    (finding,) = forward(
        proved(
            lambda x: ((x @ x[0]) - x.sin().sum(1)).square().mean(),
            lambda x: (((x @ x[0])[:, None] - jnp.sin(x).sum(1)) ** 2).mean(),
        )
    )
    assert finding.tested
    assert told(finding) == (
        "sub broadcasts [4, 1] and [4] to [4, 4], torch's operands are [4] and [4]"
    )


def test_a_column_that_is_broadcast_against_an_input_is_named():
    """The input is a leaf, and JAX's own value is the row that broadcasting makes of it."""

    class Value(nn.Module):
        def __init__(self):
            super().__init__()
            self.v = nn.Linear(3, 1)

        def forward(self, x, y):
            return ((self.v(x).squeeze(1) - y) ** 2).mean()

    def port(p: Any, x: Any, y: Any) -> Any:
        return ((x @ p["v.weight"].T + p["v.bias"] - y) ** 2).mean()

    torch.manual_seed(0)
    module = Value()
    (finding,) = forward(prove(module, port, arrays(module), (draw(4, 3), draw(4, 1)[:, 0])))
    assert told(finding) == (
        "sub broadcasts [4, 1] and [4] to [4, 4], torch's operands are [4] and [4]"
    )


class Tail(nn.Module):
    """A function whose last call is missing in the port, and that is called in two modules."""

    def forward(self, x):
        y = torch.tanh(x) * 2
        return y.sin().sin()


class Tails(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = Tail(), Tail()
        self.scale = nn.Parameter(torch.tensor(1.5))

    def forward(self, x):
        h = x + self.one(x) * self.scale
        return functional.softplus(h + self.two(h).cos())


def test_the_place_of_a_missing_call_is_the_value_that_lacks_it():
    """It is not the line of another function that reads the value."""

    def tail(x: Any) -> Any:
        return jnp.sin(jnp.tanh(x) * 2)

    def port(p: Any, x: Any) -> Any:
        h = x + tail(x) * p["scale"]
        return jax.nn.softplus(h + jnp.cos(tail(h)))

    module = Tails()
    (one,) = forward(prove(module, port, arrays(module), (draw(4, 3),)))
    line = tail.__code__.co_firstlineno + 1
    assert told(one) == "torch's sin is missing"
    assert one.jax.startswith(f"test_forward.py:{line}, called from ")
    assert one.source.startswith(f"test_forward.py:{line}: return jnp.sin(jnp.tanh(x) * 2)")
    assert "JAX's outputs if all 2 such calls at test_forward.py:" in one.cause


def test_a_missing_call_is_named_if_its_result_gets_a_new_axis():
    """The port does not normalise the weights of the chosen experts, which are then broadcast."""

    def mix(x: Any) -> Any:
        top = x.softmax(-1).topk(2, dim=-1)[0]
        top = top / top.sum(-1, keepdim=True)
        return (top[..., None] * x[:, None, :3].sin()).sum(1)

    def port(x: Any) -> Any:
        top = jax.lax.top_k(jax.nn.softmax(x, -1), 2)[0]
        return (top[..., None] * jnp.sin(x[:, None, :3])).sum(1)

    (finding,) = forward(proved(mix, port))
    assert told(finding) == "torch's div is missing"


def test_swapped_operands_are_named_and_not_the_factor_of_their_difference():
    """JAX has torch's difference too, so that the place is the call that reads it."""

    def loss(x: Any, y: Any) -> Any:
        return torch.relu(0.3 - (x - y)).sum() - functional.logsigmoid(x - y).sum()

    def port(x: Any, y: Any) -> Any:
        return jax.nn.relu(0.3 - (x - y)).sum() - jax.nn.log_sigmoid(y - x).sum()

    (finding,) = forward(proved(loss, port, (4, 6)))
    assert told(finding) == "the operands of sub are swapped"


def test_a_missing_call_is_named_if_its_result_is_detached():
    """The load of the experts is computed from integers, so that no gradient is stopped."""

    def balance(x: Any) -> Any:
        load = functional.one_hot(x.topk(2, dim=-1)[1], x.shape[-1]).to(x.dtype).sum(1).mean(0) / 2
        return (load.detach() * x.softmax(-1).mean(0)).sum()

    def port(x: Any) -> Any:
        load = jax.nn.one_hot(jax.lax.top_k(x, 2)[1], x.shape[-1]).sum(1).mean(0)
        return (load * jax.nn.softmax(x, -1).mean(0)).sum()

    (finding,) = forward(proved(balance, port))
    assert told(finding) == "torch's div by 2 is missing"


def test_calls_with_several_results_are_counted_once():
    """`chunk` returns two values."""
    (finding,) = forward(
        proved(
            lambda x: x.chunk(2, -1)[0].sin() * x.chunk(2, -1)[1],
            lambda x: jnp.sin(x[:, 3:]) * x[:, :3],
        )
    )
    assert told(finding) == "the parts of chunk are in another order: 1, 0"
    assert "if all 2 calls at" in finding.cause


def test_larger_numbers_tell_mistakes_apart():
    """A relu and a relu6 are equal on the numbers of the proof."""
    (finding,) = forward(proved(functional.softplus, jax.nn.relu))
    assert told(finding) == "the activation is relu, torch uses softplus"


def test_the_first_of_two_mistakes_has_alternatives_too():
    """A relu and a relu6 are equal here; larger numbers tell that the port has a relu6."""
    first, second = forward(
        proved(
            lambda x, w: functional.layer_norm(functional.silu(x) @ w, (6,)),
            lambda x, w: normed(jax.nn.relu6(x) @ w, eps=1e-3),
            (6, 6),
        )
    )

    assert told(first) == "the activation is relu6, torch uses silu" and first.tested
    assert told(second).startswith("eps is 0.001, torch uses 1e-05") and second.tested


@pytest.mark.parametrize("most", [1, 2, 3, 4, 6, 8, 12])
def test_a_search_that_is_cut_short_confirms_nothing_that_is_false(monkeypatch, most):
    """After some trials there is no time left; then no mistake is called the cause."""
    left = itertools.count(most, -1)
    monkeypatch.setattr(Evidence, "may_search", lambda *_, **__: next(left) > 0)
    report = proved(functional.silu, jax.nn.relu6)

    assert report.first is not None
    assert not report.first.tested or "is relu6," in report.first.cause


def test_mistakes_that_no_number_tells_apart_are_all_printed():
    """The product of a number below one and a mask is their minimum, which is an observation."""
    mask = LOWER[:4, :4]
    report = proved(
        lambda x: (x @ x.T).sigmoid() + mask.to(x.dtype),
        lambda x: jax.nn.sigmoid(x @ x.T) * mask.numpy(),
    )
    (finding,) = report.surfaces["forward"].findings
    assert finding.label == "observation" and finding.edit is None
    assert told(finding) == (
        "either JAX multiplies, torch adds, or JAX takes the minimum, torch adds"
    )
    assert "rerunning torch with any of these changes" in finding.cause


@pytest.mark.parametrize("value", [-1e9, -1e10])
def test_another_mask_value_is_harmless_beside_a_mistake(value):
    """Only the mistake is named: masked elements have no weight with either value."""
    lower = ONES[:4, :4]
    (finding,) = forward(
        proved(
            lambda x: (x @ x.T).masked_fill(~LOWER[:4, :4], -1e9).softmax(-1) @ x.sin(),
            lambda x: jax.nn.softmax(jnp.where(lower, x @ x.T, value)) @ jnp.cos(x),
        )
    )
    assert told(finding) == "the function is cos, torch uses sin"


def test_a_function_that_no_mistake_describes_has_no_cause():
    """The place is named, and what was ruled out."""
    report = proved(
        lambda x: x.exp() * x.sin(), lambda x: jnp.exp(x) * jnp.sin(x) ** 2 * jnp.exp(x + 1)
    )
    (finding,) = report.surfaces["forward"].findings
    assert (finding.op, finding.cause, finding.tested) == ("mul", "", False)
    assert "JAX adds, torch multiplies" in finding.ruled_out


class Residual(nn.Module):
    """Two residual layers."""

    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(4) for _ in range(2)])
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])

    def forward(self, x):
        x = x.exp()
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = x + torch.tanh(layer(norm(x)))
        return x


def test_an_observation_about_a_later_call_does_not_hide_the_first_place():
    """With the layers in the other order, JAX's last layer reads what torch's first one reads."""

    def port(p: Any, x: Any, order: Any = (0, 1)) -> Any:
        x = jnp.exp(x)
        for k in order:
            h = normed(x) * p[f"norms.{k}.weight"] + p[f"norms.{k}.bias"]
            x = x + jnp.tanh(h @ p[f"layers.{k}.weight"].T + p[f"layers.{k}.bias"])
        return x

    torch.manual_seed(0)
    module, x = Residual(), draw(5, 4)
    prove(module, port, arrays(module), (x,)).check()
    wrong = prove(module, lambda p, x: port(p, x, (1, 0)), arrays(module), (x,)).first

    assert wrong is not None and not wrong.tested
    assert (wrong.torch, wrong.op) == ("norms.0", "layer_norm")
    line = Residual.forward.__code__.co_firstlineno + 3
    assert wrong.torch_line == f"test_forward.py:{line}"
    assert wrong.cause == (
        "JAX's norms.1 (layer_norm) reads the result of exp, torch's reads the result of add at "
        f"test_forward.py:{line} (call 1 of 2) (rerunning torch with this change reproduces JAX's "
        "value there, but not its outputs)"
    )


class Policy(nn.Module):
    """The log probability of a squashed action, which torch computes without cancellation."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        y = self.layer(x)
        return -torch.distributions.TanhTransform().log_abs_det_jacobian(y, torch.tanh(y))


def squashed(p: Any, x: Any) -> Any:
    y = x @ p["layer.weight"].T + p["layer.bias"]
    return -jnp.log(1 - jnp.tanh(y) ** 2)


class Masked(nn.Module):
    """Attention whose mask is the smallest number of the dtype, so that no row is without keys."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x, mask):
        low = torch.finfo(x.dtype).min
        causal = torch.full((x.shape[1],) * 2, low, dtype=x.dtype).triu(1)
        bias = torch.clamp(causal + (1 - mask[:, None].to(x.dtype)) * low, min=low)
        weights = self.layer(x) @ x.mT + bias
        return torch.max(weights, torch.tensor(low, dtype=x.dtype)).softmax(-1) @ x


def masked(p: Any, x: Any, mask: Any) -> Any:
    seen = jnp.tril(jnp.ones((x.shape[1],) * 2)) * mask[:, None]
    scores = (x @ p["layer.weight"].T + p["layer.bias"]) @ x.swapaxes(1, 2)
    return jax.nn.softmax(scores + jnp.where(seen > 0, 0, -jnp.inf), -1) @ x


def test_outputs_that_are_not_finite_confirm_nothing():
    """Infinite outputs agree after many changes, and NaN agrees with nothing."""
    torch.manual_seed(0)
    policy, attending = Policy(), Masked()
    x = draw(6, 3)
    reports = [
        prove(policy, squashed, arrays(policy), (x,), also=((20 * x,),)),
        prove(
            attending,
            masked,
            arrays(attending),
            (draw(2, 4, 4), np.array([[0, 0, 1, 1], [1, 1, 1, 1]])),
        ),
    ]
    for report in reports:
        (finding,) = report.surfaces["forward"].findings
        assert "has elements that are not finite in " in finding.text
        assert (finding.tested, finding.cause, finding.edit) == (False, "", None)


def test_constant_outputs_confirm_nothing():
    """Many changes give one number."""

    class Constant(nn.Module):
        def forward(self, x):
            return (x > 1e9).to(x.dtype) + 1.5

    report = prove(Constant(), lambda p, x: (x > 1e9) + 2.5, {}, (draw(3, 4),))
    (finding,) = report.surfaces["forward"].findings
    assert not finding.tested and finding.edit is None


def test_the_recorded_calls_read_the_weights_of_the_draw_that_is_searched(evidence):
    """A rerun on another draw, or with other weights, loads others for as long as it runs."""
    module = evidence.torch_side.module
    name, weight = next(iter(module.named_parameters()))
    with adapters.float64_on_cpu():
        for draw in (0, 1):
            search = Search(evidence, draw)
            own = evidence.draws[draw].state[name]
            for other in (1 - draw, enlarged(evidence.draws[draw], [name])):
                assert search._rerun(other, ()) is not None
                np.testing.assert_array_equal(weight.detach(), own)
            assert len(search._kept) == 2
            np.testing.assert_array_equal(weight.detach(), own)


def test_a_missing_factor_is_one_mistake_although_a_sum_equals_a_mean():
    """The sum of 16 squares is the mean of 16 times as large ones: this is chance, and no cause."""

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(7, 16)

        def forward(self, ids):
            h = self.table(ids) * 4
            return h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-5)

    def port(p: Any, ids: Any) -> Any:
        h = p["table.weight"][ids]
        return h * lax.rsqrt(jnp.mean(h**2, -1, keepdims=True) + 1e-5)

    torch.manual_seed(0)
    module = Scaled()
    report = prove(module, port, arrays(module), (np.array([1, 2, 3]),))
    assert report.first is not None and report.first.tested
    assert report.first.cause.startswith("torch's mul by 4 is missing (skipping it in torch")
    assert report.further == ()


class Surrogate(nn.Module):
    """The terms of PPO's loss, whose advantages are normalised."""

    def __init__(self):
        super().__init__()
        self.pi, self.vf = nn.Linear(3, 4), nn.Linear(3, 1)

    def forward(self, x, old, adv):
        logp = self.pi(x).log_softmax(-1)[:, 0]
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        pg = -((logp - old).exp() * adv).mean()
        return pg + 0.5 * (self.vf(x)[:, 0] - adv).square().mean() + 0.1 * logp.mean()


def surrogate(ddof: int, own: bool) -> Report:
    torch.manual_seed(0)
    module = Surrogate()

    def linear(p: Any, name: str, x: Any) -> Any:
        return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]

    def port(p: Any, x: Any, old: Any, adv: Any) -> Any:
        logp = jax.nn.log_softmax(linear(p, "pi", x))[:, 0]
        adv = (adv - adv.mean()) / (adv.std(ddof=ddof) + 1e-8)
        ratio = jnp.exp(logp - (jax.lax.stop_gradient(logp) if own else old))
        v = linear(p, "vf", x)[:, 0]
        return -(ratio * adv).mean() + 0.5 * ((v - adv) ** 2).mean() + 0.1 * logp.mean()

    inputs = draw(8, 3), -np.abs(draw(8, 1)[:, 0]), draw(9, 1)[:8, 0]
    return prove(module, port, arrays(module), inputs)


def test_a_term_that_is_zero_is_not_missing():
    """The outputs alone agree if torch leaves the term out, and its gradient is not zero."""
    surrogate(1, own=False).check()
    report = surrogate(1, own=True)

    assert report.verdict == "fail"
    assert "missing" not in str(report) and "stop_gradient at" not in str(report)
    assert all(f.edit is None and not f.tested for f in report.surfaces["forward"].findings)


def test_a_mistake_in_an_operand_is_named_and_not_the_multiple_of_the_result():
    """With another divisor of the standard deviation, all advantages are torch's times 1.07."""
    report = surrogate(0, own=False)

    assert report.first is not None and report.first.tested
    assert report.first.cause.startswith("std divides by N, torch divides by N - 1 (")
    assert report.surfaces["gradients"].verdict == "pass", report


class Entropy(nn.Module):
    """A language model's loss whose last term, an entropy, is subtracted."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 4)

    def forward(self, x, labels):
        h = self.a(x)
        p = h.softmax(-1)
        bonus = 0.01 * (-(p * p.log()).sum(-1)).mean()
        logs = h.log_softmax(-1)[:, :-1]
        return -logs.gather(2, labels[:, 1:, None]).mean() - bonus


@pytest.mark.parametrize("right", [True, False])
def test_a_value_of_which_jax_has_the_negative_is_not_where_the_programs_differ(right):
    """A port may add the negative of an entropy; here the labels are wrong."""
    torch.manual_seed(0)
    module = Entropy()

    def port(p: Any, x: Any, labels: Any) -> Any:
        h = x @ p["a.weight"].T + p["a.bias"]
        q = jax.nn.softmax(h)
        negative = 0.01 * (q * jnp.log(q)).sum(-1).mean()
        chosen = labels[:, 1:] if right else labels[:, :-1]
        logs = jax.nn.log_softmax(h)[:, :-1]
        return -jnp.take_along_axis(logs, chosen[..., None], 2).mean() + negative

    labels = np.random.default_rng(0).integers(0, 4, (2, 5))
    report = prove(module, port, arrays(module), (draw(2, 5, 3), labels))

    assert report.verdict == ("pass" if right else "fail"), report
    if not right:
        assert report.first is not None and report.first.op == "getitem"
        assert report.first.cause.startswith("the slice in index 1 starts at 0, torch starts at 1")
        assert report.first.jax.endswith("(slice)")


@pytest.mark.parametrize(
    ("torch_function", "jax_function", "cause"),
    [
        (
            lambda x: x.square().mean(-1).sum() / 6 + torch.tanh(x).sum(),
            lambda x: (x**2).sum(-1).sum() / 6 + jnp.tanh(x).sum(),
            "the reduction is sum, torch uses mean",
        ),
        (
            lambda x: 2.0 * x.sin().sum() + torch.tanh(x).sum(),
            lambda x: 2.0 * (0.5 * jnp.sin(x)).sum() + jnp.tanh(x).sum(),
            None,
        ),
    ],
    ids=["a sum for a mean", "a half"],
)
def test_a_call_that_jax_makes_is_not_missing(torch_function, jax_function, cause):
    """A wrong factor, whose inverse follows, gives torch's operand of the call by chance."""
    first = proved(torch_function, jax_function).first
    assert first is not None and " is missing" not in first.cause, first
    if cause is not None:
        assert first.tested and told(first) == cause, first


def test_a_cause_is_not_ruled_out_in_other_words():
    """Another maximum of `clamp` is both another bound and another number in the call."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 4), Clamped())

    def port(p: Any, x: Any) -> Any:
        return jnp.minimum(x @ p["0.weight"].T + p["0.bias"], 0.25)

    first = prove(module, port, arrays(module), (draw(6, 4),)).first
    assert first is not None
    assert first.cause.startswith("clamp has the maximum 0.25, torch's has the maximum 0.5")
    assert "torch's clamp is missing" in first.ruled_out
    assert "max is 0.25, torch uses 0.5" not in first.ruled_out


class Clamped(nn.Module):
    def forward(self, x):
        return x.clamp(max=0.5)
