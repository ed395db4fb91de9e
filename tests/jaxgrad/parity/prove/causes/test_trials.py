"""Each kind of trial is a change of torch's calls that gives what the port computes."""

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.causes import trials
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.record.torch_side.values import Value
from jaxgrad.parity.prove.report import Finding
from tests.jaxgrad.parity.prove._helpers import arrays, draw


class Net(nn.Module):
    """Two layers with a function of the user's between them."""

    def __init__(self, between: Callable[[Any, Any], Any]):
        super().__init__()
        self.a, self.norm, self.b = nn.Linear(4, 4), nn.LayerNorm(4), nn.Linear(4, 2)
        self.between = between

    def forward(self, x):
        return self.b(self.between(self, x))


def linear(p: Any, name: str, x: Any) -> Any:
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def norm(p: Any, x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    normal = centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return normal * p["norm.weight"] + p["norm.bias"]


def proved(between: Callable[[Any, Any], Any], port: Callable[[Any, Any], Any]) -> Report:
    torch.manual_seed(0)
    module = Net(between)
    return prove(module, lambda p, x: linear(p, "b", port(p, x)), arrays(module), (draw(5, 4),))


def first(between: Callable[[Any, Any], Any], port: Callable[[Any, Any], Any]) -> Finding:
    finding = proved(between, port).first
    assert finding is not None
    return finding


def residual(m: Any, x: Any) -> Any:
    return x + torch.tanh(m.a(m.norm(x)))


def test_a_call_that_reads_another_value_is_named_with_both_values():
    """A residual connection that adds the normalised input is named as such."""

    def port(p: Any, x: Any, skip: bool = True) -> Any:
        h = norm(p, x)
        return (x if skip else h) + jnp.tanh(linear(p, "a", h))

    proved(residual, port).check()
    wrong = first(residual, lambda p, x: port(p, x, skip=False))

    assert wrong.op == "add"
    assert wrong.cause == (
        "JAX's add reads the result of norm (layer_norm), torch's reads input 0 (rerunning torch "
        "with this change reproduces JAX's outputs)"
    )


def mixed(m: Any, x: Any) -> Any:
    gate = m.a(x).sigmoid()
    rest = 1 - gate
    return x * gate + m.norm(x) * rest


def test_operands_that_two_calls_exchange_are_named_together():
    """Each call alone has a result of JAX's, but no later value agrees until both are changed."""

    def port(p: Any, x: Any, exchange: bool = False) -> Any:
        gate = jax.nn.sigmoid(linear(p, "a", x))
        weights = (1 - gate, gate) if exchange else (gate, 1 - gate)
        return x * weights[0] + norm(p, x) * weights[1]

    proved(mixed, port).check()
    wrong = first(mixed, lambda p, x: port(p, x, exchange=True))
    assert wrong.tested and wrong.op == "mul"
    assert wrong.cause.startswith(
        "the result of sigmoid and the result of rsub are exchanged in mul at test_trials.py:"
    )


def interleaved(m: Any, x: Any) -> Any:
    h = m.a(x)[:, :2]
    return torch.cat([f(h[:, k : k + 1]) for k in (0, 1) for f in (torch.sin, torch.cos)], 1)


def attended(m: Any, x: Any) -> Any:
    scores = m.a(x) @ m.norm(x).T
    return scores.softmax(-1) @ x


def chosen(m: Any, x: Any) -> Any:
    y = (m.a(x) / 0.5 + x).softmax(-1)
    hard = functional.one_hot(y.argmax(-1), 4).to(y.dtype)
    return hard - y.detach() + y


def test_elements_in_another_order_are_named_with_two_positions():
    """The report names the call that joins sines and cosines, and two positions that differ."""

    def port(p: Any, x: Any, order: Any = (0, 1, 2, 3)) -> Any:
        h = linear(p, "a", x)[:, :2]
        return jnp.concatenate([jnp.sin(h), jnp.cos(h)], 1)[:, jnp.array(order)]

    assert proved(interleaved, lambda p, x: port(p, x, (0, 2, 1, 3))).verdict == "pass"
    finding = first(interleaved, port)
    assert (finding.op, finding.tested) == ("cat", True), finding
    assert "occur in JAX in another order or place" in finding.text
    assert "another order: it has at [0, 1] what torch has at [0, 2]" in finding.cause


def test_scores_that_are_transposed_before_use_are_named():
    """A square array and its transposition have the same elements and the same axes."""

    def port(p: Any, x: Any, transpose: bool = True) -> Any:
        scores = linear(p, "a", x) @ norm(p, x).T
        return jax.nn.softmax(scores.T if transpose else scores) @ x

    assert proved(attended, lambda p, x: port(p, x, False)).verdict == "pass"
    finding = first(attended, port)
    assert finding.tested
    assert "JAX has axes 0 and 1 of torch's matmul output exchanged" in finding.cause


def test_scores_of_exchanged_operands_are_named_as_transposed():
    """`k @ q.T` has the elements of `q @ k.T` in another order, and no other copy of them."""

    def port(p: Any, x: Any, exchange: bool = True) -> Any:
        q, k = linear(p, "a", x), norm(p, x)
        return jax.nn.softmax(k @ q.T if exchange else q @ k.T) @ x

    assert proved(attended, lambda p, x: port(p, x, False)).verdict == "pass"
    finding = first(attended, port)
    assert finding.tested
    assert "JAX has axes 0 and 1 of torch's matmul output exchanged" in finding.cause
    assert finding.source.endswith("return jax.nn.softmax(k @ q.T if exchange else q @ k.T) @ x")


def attended_twice(m: Any, x: Any) -> Any:
    for _ in range(2):
        scores = m.a(x) @ m.norm(x).T
        x = x + (scores + torch.ones_like(scores).triu(1) * -1e9).softmax(-1) @ x
    return x


def port_twice(p: Any, x: Any, exchange: bool = True) -> Any:
    for _ in range(2):
        q, k = linear(p, "a", x), norm(p, x)
        scores = k @ q.T if exchange else q @ k.T
        x = x + jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((5, 5))) > 0, scores, -jnp.inf)) @ x
    return x


def test_scores_that_are_transposed_in_every_layer_are_named_once():
    """The masked scores differ, and the scores occur only transposed."""
    assert proved(attended_twice, lambda p, x: port_twice(p, x, False)).verdict == "pass"
    finding = first(attended_twice, port_twice)
    assert finding.tested and finding.op == "matmul"
    assert "JAX has axes 0 and 1 of torch's matmul output exchanged" in finding.cause
    line = attended_twice.__code__.co_firstlineno + 2
    assert f"JAX's outputs if all 2 calls at test_trials.py:{line} are changed" in finding.cause


def test_without_time_for_a_cause_transposed_scores_are_the_place(monkeypatch):
    """The line that transposes them is named, not the line of the mask, which is right."""
    monkeypatch.setattr(Evidence, "may_search", lambda *_, **__: False)
    finding = first(attended_twice, port_twice)

    assert not finding.cause and finding.op == "add"
    assert "JAX has the result of torch's matmul only transposed." in finding.text
    assert finding.source.endswith("scores = k @ q.T if exchange else q @ k.T")


def heads(m: Any, x: Any) -> Any:
    h = m.a(x).view(5, 2, 2).transpose(0, 1)
    return (h @ h.mT).softmax(-1).reshape(10, 5)[:, :4]


def test_heads_that_are_only_reshaped_are_placed_at_the_reshape():
    """The projection has the same elements, but the reshape has torch's shape."""

    def port(p: Any, x: Any, move: bool = False) -> Any:
        h = linear(p, "a", x)
        h = h.reshape(5, 2, 2).transpose(1, 0, 2) if move else h.reshape(2, 5, 2)
        return jax.nn.softmax(h @ h.mT).reshape(10, 5)[:, :4]

    assert proved(heads, lambda p, x: port(p, x, True)).verdict == "pass"
    finding = first(heads, port)
    assert (finding.op, finding.tested) == ("transpose", True), finding
    assert finding.cause.startswith("the array is reshaped where torch's transpose moves the axes")
    assert "else h.reshape(2, 5, 2)" in finding.source


@pytest.mark.parametrize("stops", [False, True], ids=["in JAX", "in torch"])
def test_a_stop_inside_an_inner_gradient_is_named(stops):
    """An inner gradient differs if one program alone stops a part of what it differentiates.

    The port need not compute the sum that torch differentiates.
    """

    def penalised(m: Any, x: Any) -> Any:
        h = torch.tanh(m.a(x)).requires_grad_()
        k = h * x
        d = torch.rsqrt(k.square().sum(1, keepdim=True) + 1)
        y = k.sin() * (d.detach() if stops else d)
        (g,) = torch.autograd.grad((y * x).sum(), h, create_graph=True)
        return g

    def port(p: Any, x: Any, stop: bool) -> Any:
        def inner(h: Any, x: Any) -> Any:
            d = jax.lax.rsqrt(((h * x) ** 2).sum() + 1)
            return (jnp.sin(h * x) * (jax.lax.stop_gradient(d) if stop else d) * x).sum()

        return jax.vmap(jax.grad(inner))(jnp.tanh(linear(p, "a", x)), x)

    assert proved(penalised, lambda p, x: port(p, x, stops)).verdict == "pass"
    finding = first(penalised, lambda p, x: port(p, x, not stops))
    assert (finding.op, finding.tested) == ("grad", True), finding
    what = "the gradient of the result of rsqrt inside the inner gradient"
    text = f"JAX does not stop {what}, torch does" if stops else f"JAX stops {what}, torch does not"
    assert finding.cause == f"{text} (rerunning torch with this change reproduces JAX's outputs)"


def test_another_choice_is_traced_to_the_values_that_it_compares():
    """If one-hot rows differ in their order, the difference begins in what they are chosen from."""

    def port(p: Any, x: Any, temperature: float = 1.0) -> Any:
        y = jax.nn.softmax(linear(p, "a", x) / temperature + x)
        return jax.nn.one_hot(y.argmax(-1), 4) - jax.lax.stop_gradient(y) + y

    assert proved(chosen, lambda p, x: port(p, x, 0.5)).verdict == "pass"
    finding = first(chosen, port)
    assert finding.op == "div", finding
    assert finding.cause.startswith("the number in div is 1, torch uses 0.5 (")


def normed(m: Any, x: Any) -> Any:
    return torch.relu(m.norm(m.a(x)))


def test_two_calls_in_the_other_order_are_named():
    """An activation before the norm is named instead of a missing norm."""
    proved(normed, lambda p, x: jax.nn.relu(norm(p, linear(p, "a", x)))).check()
    wrong = first(normed, lambda p, x: norm(p, jax.nn.relu(linear(p, "a", x))))

    assert (wrong.torch, wrong.op) == ("norm", "layer_norm")
    assert wrong.cause.startswith("relu comes before layer_norm, torch calls layer_norm first (")


def test_two_calls_in_the_other_order_in_every_block_are_named():
    """The order is changed in all blocks if the change of one does not give JAX's outputs."""

    def twice(m: Any, x: Any) -> Any:
        for _ in range(2):
            x = torch.tanh(m.norm(m.a(x)))
        return x

    def port(p: Any, x: Any) -> Any:
        for _ in range(2):
            x = norm(p, jnp.tanh(linear(p, "a", x)))
        return x

    assert first(twice, port).cause.startswith("tanh comes before layer_norm, torch calls layer_n")


@pytest.mark.parametrize(
    ("torch_order", "jax_order", "text"),
    [
        (lambda m, x: x + torch.relu(m.a(x)), lambda x, h: jax.nn.relu(x + h),
         "add comes before relu, torch calls relu first ("),
        (lambda m, x: torch.relu(x + m.a(x)), lambda x, h: x + jax.nn.relu(h),
         "relu comes before add, torch calls add first ("),
        (lambda m, x: torch.relu(x + m.a(x)), lambda x, h: jax.nn.relu(x) + h,
         "relu comes before add, torch calls add first ("),
    ],
    ids=["of_the_sum", "of_the_branch", "of_the_input"],
)  # fmt: skip
def test_a_function_on_the_other_side_of_a_residual_sum_is_named(torch_order, jax_order, text):
    """A call of an operand, of whichever position, may be made of the sum, or the reverse."""
    wrong = first(torch_order, lambda p, x: jax_order(x, linear(p, "a", x)))
    assert wrong.cause.startswith(text), wrong.cause


def test_dropout_on_the_other_side_of_a_residual_sum_is_named():
    """A moved dropout drops with the numbers that torch drew."""

    def port(p: Any, x: Any) -> Any:
        y = x + linear(p, "a", x)
        return jnp.where(jax.random.bernoulli(jax.random.key(0), 0.5, y.shape), y / 0.5, 0.0)

    wrong = first(lambda m, x: x + functional.dropout(m.a(x), 0.5), port)
    assert wrong.cause.startswith("add comes before dropout, torch calls dropout first (")


def clamped(m: Any, x: Any) -> Any:
    return torch.clamp(m.a(x), -0.5, 0.2)


def test_the_bounds_of_a_clamp_are_named():
    """Bounds with other numbers or signs, which only the JAX program contains, are named."""
    proved(clamped, lambda p, x: jnp.clip(linear(p, "a", x), -0.5, 0.2)).check()
    for low, high in ((-0.2, 0.5), (-0.3, 0.7)):
        wrong = first(clamped, lambda p, x, b=(low, high): jnp.clip(linear(p, "a", x), *b))

        assert wrong.op == "clamp"
        assert wrong.cause.startswith(
            f"clamp has the minimum {low:g} and the maximum {high:g}, torch's has the minimum -0.5 "
            "and the maximum 0.2 ("
        )


def test_a_bound_on_the_other_side_is_named():
    """A minimum in place of a maximum is named."""
    wrong = first(
        lambda m, x: m.a(x).clamp(min=0.1), lambda p, x: jnp.minimum(linear(p, "a", x), 0.1)
    )

    assert wrong.cause.startswith("clamp has the maximum 0.1, torch's has the minimum 0.1 (")


def test_a_number_that_only_the_jax_program_contains_is_tried():
    """A factor of 0.37 where torch has 0.25 is named, although 0.37 is in no list."""
    wrong = first(
        lambda m, x: torch.tanh(m.a(x)) ** 2 * 0.25 + x,
        lambda p, x: jnp.tanh(linear(p, "a", x)) ** 2 * 0.37 + x,
    )

    assert wrong.cause.startswith("the number in mul is 0.37, torch uses 0.25 (rerunning torch")


def test_a_repeated_weight_is_not_where_a_difference_begins():
    """A start token that torch expands and JAX maps over is not blamed for a later mistake."""
    wrong = first(
        lambda m, x: torch.sin(m.a(m.norm.bias.expand(len(x), -1) + 1 + x)),
        lambda p, x: jnp.cos(linear(p, "a", p["norm.bias"] + 1 + x)),
    )

    assert wrong.op == "sin"


X = torch.linspace(-1, 1, 6, dtype=torch.float64).reshape(2, 3)


def value(op: str, inputs: tuple[int, ...], x: Any, call: Any = None, number: int = -1) -> Value:
    data = x.detach().numpy()
    return Value("", op, inputs, tuple(x.shape), fingerprint(data), data=data, call=call,
                 call_number=number)  # fmt: skip


def calls(*functions: Callable[..., Any]) -> Any:
    """Return a run of functions that each take the result before."""
    values, x = [value("input", (), X)], X
    for i, func in enumerate(functions):
        call = (func, (x,), {})
        x = func(x)
        values.append(value(func.__name__, (i,), x, call, i + 10))
    return SimpleNamespace(values=values)


def test_two_calls_are_made_in_the_other_order():
    """Each of the two calls makes what the other one made, with its own operand."""
    run = calls(torch.sin, torch.exp)
    (trial,) = trials.reordered(run, 1)
    first, second = trial.changes

    assert trial.text == "exp comes before sin, torch calls sin first"
    assert (trial.value, first.number, second.number) == (1, 10, 11)
    assert (first.func, second.func) == (torch.exp, torch.sin)
    assert (first.draws, second.draws) == (11, 10), "each draws its own random numbers"
    assert torch.equal(first.apply(first.func, (X,), {}), X.exp())
    assert torch.equal(second.apply(second.func, (X,), {}), X.sin())
    assert [change.number for change in trial.everywhere()] == [10, 11]


def test_all_pairs_of_calls_change_their_order():
    """Only pairs of the same two functions are changed together."""
    run = calls(torch.sin, torch.exp, torch.tanh, torch.sin, torch.exp, torch.sin)
    (trial,) = trials.reordered(run, 1)
    assert [change.number for change in trial.everywhere()] == [10, 11, 13, 14]
    assert [t.text.split()[0] for t in trials.reordered(run, 5)] == ["sin"]


@pytest.mark.parametrize(
    "functions",
    [(torch.sin, torch.sin), (torch.sin, torch.sum), (torch.sin, torch.clone), (torch.sin,)],
    ids=["same function", "other shape", "no call", "last call"],
)
def test_two_calls_that_cannot_be_exchanged_are_left(functions):
    """Equal functions, results of another shape and calls that are not known are left out."""
    run = calls(*functions)
    if functions[-1] is torch.clone:
        run.values[2].call = None
    assert list(trials.reordered(run, 1)) == []


@pytest.mark.parametrize("which", [1, 2])
@pytest.mark.parametrize(
    "change",
    [
        {"op": "reshape"},
        {"op": "input"},
        {"inputs": ()},
        {"call": (torch.sin, (), {"input": X})},
        {"call": (torch.sin, (1.0,), {})},
        {"call": (torch.Tensor.sin_, (X,), {})},
        {"call": None},
    ],
    ids=["reshape", "input", "no inputs", "named tensor", "no tensor", "in place", "no call"],
)
def test_calls_are_exchanged_only_if_each_has_a_tensor_as_operand(which, change):
    """Views, inputs, calls in place and calls without a positional tensor have no order."""
    run = calls(torch.sin, torch.exp)
    assert trials._chained(run, run.values[1], run.values[2])
    vars(run.values[which]).update(change)
    assert trials._chained(run, run.values[1], run.values[2]) == []


def added() -> Any:
    """Return a run of a sum of the sine and the exponential, beside their sum of squares."""
    a, b = X.sin(), X.exp()
    values = [
        value("input", (), X),
        value("sin", (0,), a, (torch.sin, (X,), {}), 1),
        value("exp", (0,), b, (torch.exp, (X,), {}), 2),
        value("ones", (), torch.ones_like(X)),
        value("sum", (0,), X.sum()),
        value("clone", (2,), b.clone()),
        value("add", (1, 2), a + b, (torch.add, (a, b), {"alpha": 2}), 3),
    ]
    return SimpleNamespace(values=values)


def test_each_operand_may_be_another_visible_value():
    """A value of the same shape before the call takes an operand's place, each value once."""
    run = added()
    found = [(t.text, x) for t, x in trials.rewired(run, 6, lambda k: k != 1)]

    assert [text for text, _ in found] == [
        "JAX's add reads input 0, torch's reads the result of sin",
        "JAX's add reads the result of exp, torch's reads the result of sin",
        "JAX's add reads input 0, torch's reads the result of exp",
    ]
    np.testing.assert_allclose(found[0][1], X + 2 * X.exp())
    np.testing.assert_allclose(found[1][1], 3 * X.exp())
    np.testing.assert_allclose(found[2][1], X.sin() + 2 * X)
    trial, x = next(trials.rewired(run, 6, lambda k: True))
    (change,) = trial.changes
    assert (change.number, change.reads, trial.value) == (3, (0,), 6)
    again = change.apply(torch.add, (X.sin(), X.exp()), {"alpha": 2}, X)
    np.testing.assert_array_equal(again, x)


def test_a_value_is_replaced_before_it_is_transposed():
    """JAX has the product of a matrix with another one, which it transposes too."""
    a, b = X.sin(), X.exp()
    run: Any = SimpleNamespace(values=[
        value("input", (), X),
        value("sin", (0,), a, (torch.sin, (X,), {}), 1),
        value("exp", (0,), b, (torch.exp, (X,), {}), 2),
        value("transpose", (2,), b.T, (torch.transpose, (b, 0, 1), {}), 3),
        value("matmul", (1, 3), a @ b.T, (torch.matmul, (a, b.T), {}), 4),
    ])  # fmt: skip
    found = {t.text: (t, x) for t, x in trials.rewired(run, 4, lambda k: k != 2)}
    trial, x = found["JAX's matmul reads the result of sin, torch's reads the result of exp"]
    np.testing.assert_allclose(x, a @ a.T)
    (change,) = trial.changes
    assert (change.number, change.reads) == (4, (1,))
    np.testing.assert_allclose(change.apply(torch.matmul, (X, b.T), {}, a), X @ a.T)


def test_a_sum_without_a_term_is_its_other_operand():
    """Of a difference only the second term can be missing, or JAX would have its negative."""
    run = added()
    trial = trials.without_term(run, 6, 1, 2, ((4,), 0))
    assert trial is not None and (trial.value, trial.key) == (6, ((4,), 0))
    assert trial.text == (
        "a term of the sum is missing: the result of exp, which torch's add reads"
    )
    (change,) = trial.changes
    x, y = X[:1].sin(), X.exp()
    kept = change.apply(torch.add, (x, y), {})
    np.testing.assert_array_equal(kept, x.expand(y.shape))

    a, b = X.sin(), X.exp()
    run.values[6].op, run.values[6].call = "sub", (torch.sub, (a, b), {})
    assert trials.without_term(run, 6, 1, 2, None) is not None
    assert trials.without_term(run, 6, 2, 1, None) is None
    run.values[6].call = (torch.sub, (a, a), {})
    assert trials.without_term(run, 6, 1, 2, None) is None, "both terms are the same"


def test_a_call_without_another_operand_is_not_rewired():
    """Views, calls in place, calls that reject the value and results of no tensor are left out."""
    run = added()
    assert list(trials.rewired(run, 1, lambda k: True)) == []
    assert list(trials.rewired(run, 0, lambda k: True)) == []
    value = run.values[6]
    for change in (
        {"op": "reshape"},
        {"call": (torch.Tensor.add_, (X.sin(), X.exp()), {})},
        {"call": (lambda a, b: 1 / 0, value.call[1], {})},
        {"call": (lambda a, b: [a, b], value.call[1], {})},
        {"call": (torch.add, (X, X), {})},
    ):
        other: Any = SimpleNamespace(values=[*run.values[:6], Value(**{**vars(value), **change})])
        assert list(trials.rewired(other, 6, lambda k: k != 1)) == []


@pytest.mark.parametrize(
    ("change", "fits"),
    [
        ({}, True),
        ({"data": None}, False),
        ({"shape": (3, 2)}, False),
        ({"shape": (1, *X.shape)}, True),
        ({"data": X.float().numpy()}, False),
        ({"print": fingerprint(np.ones(6))}, False),
        ({"print": fingerprint(X.numpy())}, False),
    ],
)
def test_an_operand_is_replaced_by_a_value_of_its_kind(change, fits):
    """It has the operand's shape without axes of length 1, its dtype, and other elements."""
    other = Value(**{**vars(value("exp", (0,), X.exp())), **change})
    run: Any = SimpleNamespace(values=[other])
    assert trials._fits(run, 0, value("input", (), X)) is fits
    given = value("input", (), X)
    given.data = None
    assert trials._fits(run, 0, given) is False


@pytest.mark.parametrize(
    ("x", "same"),
    [(X.clone(), True), (X + 1, False), (X.reshape(3, 2), False), (X.numpy(), False),
     (torch.arange(6).reshape(2, 3), False), (None, False)],
)  # fmt: skip
def test_an_operand_is_recognised_by_its_elements(x, same):
    """Only floating tensors of the same shape are compared."""
    assert trials.is_value(x, value("input", (), X)) is same
    integers = torch.arange(6).reshape(2, 3)
    assert trials.is_value(integers, value("input", (), integers)) is False
    assert trials.is_value(1j * X, value("input", (), 1j * X)) is True


def test_values_are_named_by_their_module_or_by_their_place():
    """Inputs are numbered among the inputs, and copies of a value count once."""
    values = [value("sin", (), X), value("input", (), X), value("input", (), X + 1)]
    values[0].module = "net.0"
    run: Any = SimpleNamespace(values=values)
    assert trials._names(run) == ["the result of net.0 (sin)", "input 0", "input 1"]
    assert trials._distinct(run, [0, 1, 2]) == [0, 2]


def test_values_with_the_same_name_are_told_apart():
    """A value has its line, its number among the calls of the line and among the call's results."""
    rows = [("chunk", 1, "m:1"), ("chunk", 1, "m:1"), ("exp", 2, "m:2"), ("exp", 3, "m:2"),
            ("exp", 4, "m:3"), ("sin", 5, "m:4"), ("cos", -1, ""), ("cos", -1, "")]  # fmt: skip
    values = [value(op, (), X, number=number) for op, number, _ in rows]
    for each, (_, _, line) in zip(values, rows, strict=True):
        each.line = line
    run: Any = SimpleNamespace(values=values)

    assert trials._names(run) == [
        "result 1 of 2 of chunk",
        "result 2 of 2 of chunk",
        "the result of exp at m:2 (call 1 of 2)",
        "the result of exp at m:2 (call 2 of 2)",
        "the result of exp at m:3",
        "the result of sin",
        "the result of cos",
        "the result of cos",
    ]


class Pooled(nn.Module):
    """A GRU whose outputs are averaged under a mask of ones and zeros."""

    def __init__(self):
        super().__init__()
        self.gru, self.head = nn.GRU(3, 4, batch_first=True), nn.Linear(4, 2)

    def forward(self, x, mask):
        h, _ = self.gru(x)
        return self.head((h * mask).sum(1) / mask.sum(1))


def pooled(p: Any, x: Any, mask: Any, *, last: bool = False) -> Any:
    def step(h: Any, x: Any) -> Any:
        ir, iz, inn = jnp.split(x @ p["gru.weight_ih_l0"].T + p["gru.bias_ih_l0"], 3, -1)
        hr, hz, hn = jnp.split(h @ p["gru.weight_hh_l0"].T + p["gru.bias_hh_l0"], 3, -1)
        z = jax.nn.sigmoid(iz + hz)
        h = (1 - z) * jnp.tanh(inn + jax.nn.sigmoid(ir + hr) * hn) + z * h
        return h, h

    final, states = jax.lax.scan(step, jnp.zeros((len(x), 4), x.dtype), x.swapaxes(0, 1))
    mean = (states.swapaxes(0, 1) * mask).sum(1) / mask.sum(1)
    return linear(p, "head", final if last else mean)


def test_a_call_that_reads_another_value_of_another_rank_is_named():
    """The last state of a GRU has an axis of length 1 in torch, and none in JAX."""
    torch.manual_seed(0)
    module = Pooled()
    mask = (np.arange(5) < np.array([5, 3, 2])[:, None]).astype(np.float32)[..., None]
    arguments = arrays(module), (draw(3, 5, 3), mask)

    prove(module, pooled, *arguments).check()
    wrong = prove(module, functools.partial(pooled, last=True), *arguments).first
    assert wrong is not None and (wrong.torch, wrong.op) == ("head", "linear")
    assert wrong.cause == (
        "JAX's head (linear) reads result 2 of 2 of gru (gru), torch's reads the result of div "
        "(rerunning torch with this change reproduces JAX's outputs)"
    )


@pytest.mark.parametrize(
    ("func", "is_in_place"),
    [(torch.Tensor.add_, True), (torch.add, False), (torch.Tensor.__add__, False), (None, False)],
)
def test_calls_in_place_are_recognised(func, is_in_place):
    """The name of such a function ends with one underscore."""
    call = None if func is None else (func, (X,), {})
    assert trials.in_place(value("op", (), X, call)) is is_in_place


@pytest.mark.parametrize("func", [torch.exp, torch.Tensor.exp_])
def test_a_multiple_is_made_by_scaling_the_result(func):
    """A call in place scales its operand too."""
    run: Any = SimpleNamespace(values=[value("exp", (), X.exp(), (func, (X,), {}), 5)])
    trial = trials.scaled(run, 0, 7, 0.5)
    (change,) = trial.changes
    operand = X.clone()
    out = change.apply(func, (operand,), {})

    assert (trial.row, change.number, trial.tested) == (7, 5, "scaling it in torch")
    assert trial.text == "JAX's value is torch's times 1/2"
    assert torch.equal(out, X.exp() / 2) and (out is operand) == (func is torch.Tensor.exp_)


def leaky(slope: float = 0.2) -> Any:
    """Return a run of three calls of one function, of which one has no number, and another call."""
    call = (functional.leaky_relu, (X, slope), {})
    out = functional.leaky_relu(X, slope)
    values = [value("input", (), X)]
    values += [value("leaky_relu", (0,), out, call, number) for number in (0, 3, -1)]
    values += [value("tanh", (0,), X.tanh(), (torch.tanh, (X,), {}), 4)]
    values += [value("transpose", (0,), X.T, (torch.transpose, (X, 0, 1), {}), 5)]
    return SimpleNamespace(values=values)


def test_the_mistakes_of_a_call_are_trials():
    """Each trial changes its call alone, or all calls of the function if that is asked for."""
    run = leaky()
    found = {trial.text: trial for trial in trials.in_call(run, 1, (0.1,))}
    trial = found["negative_slope is 0.1, torch uses 0.2"]
    (change,) = trial.changes

    assert (trial.value, trial.changed, change.number) == (1, 1, 0)
    wrong = functional.leaky_relu(X, 0.1)
    assert torch.equal(change.apply(functional.leaky_relu, (X, 0.2), {}), wrong)
    everywhere = [*trial.everywhere()]
    assert [change.number for change in everywhere] == [0, 3]
    for change in everywhere:
        assert torch.equal(change.apply(functional.leaky_relu, (X, 0.2), {}), wrong)
    used = everywhere[1].apply(functional.leaky_relu, (X, 0.1), {})
    assert torch.equal(used, wrong)
    assert list(trials.in_call(run, 0, ())) == []


@pytest.mark.parametrize("shown", [0, 4])
def test_a_mistake_of_a_view_is_shown_where_it_is_used(shown):
    """Only a mistake that moves elements can show in a later value."""
    run = leaky()
    moved = list(trials.in_call(run, 5, (), shown))
    assert moved and {(trial.value, trial.changed) for trial in moved} == {(shown, 5)}
    alone = list(trials.in_call(run, 5, ()))
    assert {(trial.value, trial.changed) for trial in alone} == {(5, 5)}
    assert list(trials.in_call(run, 1, (), shown)) == []


def test_results_are_computed_from_kept_values():
    """The wrong result is that of the call's recorded operands; calls in place have none."""
    run = leaky()
    results = {trial.text: x for trial, x in trials.with_results(run, 1, (0.5,))}
    text = "negative_slope is 0.5, torch uses 0.2"
    np.testing.assert_allclose(results[text], functional.leaky_relu(X, 0.5))
    for change in ({"call": None}, {"data": None}, {"call": (torch.Tensor.exp_, (X,), {})}):
        vars(run.values[1]).update(leaky().values[1].__dict__ | change)
        assert list(trials.with_results(run, 1, ())) == []


def averaged(decay: float, alpha: float) -> tuple[Any, list[torch.Tensor]]:
    """Return the run of `old.mul_(decay).add_(new, alpha=alpha)`, and the two tensors."""
    old, new = torch.tensor([1.0, 2.0]), torch.tensor([3.0, -1.0])
    values = [value("input", (), old), value("input", (), new)]
    product = decay * old
    scale = (torch.Tensor.mul_, (old, decay), {})
    values.append(value("mul", (0,), product, scale, 10))
    total = product + alpha * new
    add = (torch.Tensor.add_, (old, new), {"alpha": alpha})
    values.append(value("add", (2, 1), total, add, 11))
    return SimpleNamespace(values=values), [old, new]


def test_an_average_gets_the_numbers_of_the_jax_program():
    """Both calls are changed, even in a rerun that perturbs the numbers of all calls."""
    run, (old, new) = averaged(0.9, 1 - 0.9)
    exchanged, other = trials.averages(run, 3, (0.75, 1.5, 0.9))

    assert exchanged.text == "the weights of the average are 0.1 and 0.9, torch uses 0.9 and 0.1"
    assert other.text == "the weights of the average are 0.75 and 0.25, torch uses 0.9 and 0.1"
    scale, add = other.changes
    assert (scale.number, add.number, other.calls) == (10, 11, 2)
    result = scale.apply(torch.Tensor.mul_, (old.clone(), 0.9 * (1 + 2e-16)), {})
    result = add.apply(torch.Tensor.add_, (result, new), {"alpha": (1 - 0.9) * (1 + 2e-16)})
    torch.testing.assert_close(result, 0.75 * old + 0.25 * new)
    assert [change.number for change in other.everywhere()] == [10, 11]


def test_a_sum_with_other_numbers_is_not_an_average():
    run, _ = averaged(0.9, 0.2)
    assert not list(trials.averages(run, 3, (0.75,)))
    assert not list(trials.averages(run, 2, (0.75,)))


def test_a_queue_that_gets_another_value_is_named():
    """The values are transposed before they are written into a part of the buffer."""

    class Queue(nn.Module):
        queue: torch.Tensor

        def __init__(self):
            super().__init__()
            self.a, self.b = nn.Linear(3, 2), nn.Linear(3, 2)
            self.register_buffer("queue", torch.zeros(2, 8))

        def forward(self, x):
            query, key = torch.tanh(self.a(x)), torch.sin(self.b(x))
            with torch.no_grad():
                self.queue[:, 2:6] = key.T
            return (query * key).sum()

    def port(p: Any, x: Any, right: bool = False) -> Any:
        query, key = jnp.tanh(linear(p, "a", x)), jnp.sin(linear(p, "b", x))
        kept = key if right else query
        new = p["queue"].at[:, 2:6].set(jax.lax.stop_gradient(kept).T)
        return (query * key).sum(), {"queue": new}

    torch.manual_seed(0)
    module = Queue()
    arguments: Any = dict(params=arrays(module), inputs=(draw(4, 3),), has_state=True)
    prove(module, functools.partial(port, right=True), **arguments).check()
    finding = prove(module, port, **arguments).first
    assert finding is not None and finding.tested
    assert finding.op == "setitem" and finding.cause.startswith(
        "JAX's setitem reads the result of tanh, torch's reads the result of sin (rerunning torch "
    ), finding.cause


class Following(nn.Module):
    """A target network that follows another one in the forward pass, before it is used."""

    def __init__(self, step: Callable[[Any, Any], Any]):
        super().__init__()
        self.step = step
        self.net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        self.target = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))
        self.target.requires_grad_(False)

    def forward(self, x):
        with torch.no_grad():
            for own, other in zip(self.target.parameters(), self.net.parameters(), strict=True):
                self.step(own, other)
        return (self.net(x) - self.target(x)).square().sum()


@pytest.mark.parametrize(
    "step",
    [lambda own, other: own.mul_(0.9).add_(other, alpha=0.1), lambda own, x: own.lerp_(x, 0.1)],
    ids=["mul_ and add_", "lerp_"],
)
def test_weights_that_are_read_before_their_update_are_named(step):
    """All calls of the target network read the new weights in torch, and the old ones in JAX."""

    def net(p: Any, name: str, x: Any) -> Any:
        return linear(p, f"{name}.2", jnp.tanh(linear(p, f"{name}.0", x)))

    def port(p: Any, x: Any, right: bool = False) -> Any:
        names = [name.removeprefix("net.") for name in p if name.startswith("net.")]
        new = {f"target.{n}": 0.9 * p[f"target.{n}"] + 0.1 * p[f"net.{n}"] for n in names}
        new = jax.lax.stop_gradient(new)
        target = net(jax.lax.stop_gradient(p | new if right else p), "target", x)
        return ((net(p, "net", x) - target) ** 2).sum(), new

    torch.manual_seed(0)
    module = Following(step)
    arguments: Any = dict(params=arrays(module), inputs=(draw(4, 3),), has_state=True)
    prove(module, functools.partial(port, right=True), **arguments).check()
    finding = prove(module, port, **arguments).first
    assert finding is not None and finding.tested, finding
    assert finding.torch == "target.0" and finding.op == "linear"
    assert finding.cause.startswith(
        "JAX reads target.0.weight and 3 more before the forward pass changes them, torch reads "
        "them after that (rerunning torch with the values before reproduces JAX's outputs"
    ), finding.cause


class Counting(nn.Module):
    """A loss that is divided by a running size, which the forward pass has updated."""

    size: torch.Tensor

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.register_buffer("size", torch.tensor(3.0))

    def forward(self, x):
        loss = self.linear(x).square().sum()
        with torch.no_grad():
            self.size.mul_(0.9).add_(0.1 * x.abs().sum())
        return loss / self.size.clone()


def test_a_buffer_that_is_read_before_its_update_is_named():
    """The buffer is updated in two calls in place; neither is a reader."""

    def port(p: Any, x: Any, right: bool = False) -> Any:
        size = 0.9 * p["size"] + 0.1 * jax.lax.stop_gradient(jnp.abs(x).sum())
        loss = (linear(p, "linear", x) ** 2).sum()
        return loss / (size if right else p["size"]), {"size": size}

    torch.manual_seed(0)
    module = Counting()
    arguments: Any = dict(params=arrays(module), inputs=(draw(4, 3),), has_state=True)
    prove(module, functools.partial(port, right=True), **arguments).check()
    finding = prove(module, port, **arguments).first
    assert finding is not None and finding.tested, finding
    assert finding.cause.startswith(
        "JAX reads size before the forward pass changes it, torch reads it after that ("
    ), finding.cause


LENGTHS = np.array([4, 2])


class Masked(nn.Module):
    """Attention over the valid positions, and the mean of the result over them."""

    def __init__(self):
        super().__init__()
        self.score, self.value = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x, lengths):
        valid = torch.arange(x.shape[1]) < lengths[:, None]
        scores = (self.score(x) @ x.mT).masked_fill(~valid[:, None], -1e9)
        h = scores.softmax(-1) @ self.value(x)
        return (h * valid[..., None]).sum(1) / valid.sum(1, keepdim=True)


def masked(p: Any, x: Any, lengths: Any, before: bool = True, kept: bool = True) -> Any:
    valid = jnp.arange(x.shape[1]) < lengths[:, None]
    scores = linear(p, "score", x) @ x.mT
    if before:
        weights = jax.nn.softmax(jnp.where(valid[:, None], scores, -1e9))
    else:
        weights = jax.nn.softmax(scores) * valid[:, None]
    h = weights @ linear(p, "value", x)
    return (h * valid[..., None]).sum(1) / valid.sum(1, keepdims=True) if kept else h.mean(1)


@pytest.mark.parametrize(
    ("mistake", "cause"),
    [
        ({}, ""),
        ({"before": False}, "the mask is applied after the softmax, torch applies it before"),
        ({"kept": False}, "the mask is ignored: the mean is over all elements, torch's is over"),
    ],
)
def test_a_mask_that_is_ignored_or_applied_late_is_named(mistake: Any, cause: str):
    torch.manual_seed(0)
    module = Masked()
    port = functools.partial(masked, **mistake)
    first = prove(module, port, arrays(module), (draw(2, 4, 3), LENGTHS)).first
    assert (first is None) == (not cause)
    if first is not None:
        assert first.cause.startswith(cause) and first.tested


@pytest.mark.parametrize(
    ("torch_norm", "jax_norm", "cause"),
    [
        (
            lambda x: x / (x.std(-1, keepdim=True) + 1e-3),
            lambda x: x / jnp.sqrt(x.var(-1, keepdims=True, ddof=1) + 1e-3),
            "eps is inside the square root, torch adds it outside",
        ),
        (
            lambda x: x * (x.var(-1, keepdim=True) + 1e-3).sqrt(),
            lambda x: x * (x.std(-1, keepdims=True, ddof=1) + 1e-3),
            "sqrt comes before add, torch calls add first",
        ),
    ],
)
def test_an_eps_on_the_other_side_of_a_square_root_is_named(torch_norm, jax_norm, cause):
    """The mistake is in both layers that use the function."""

    def twice(norm: Any, net: Any, x: Any) -> Any:
        return norm(net(norm(x)))

    report = proved(
        lambda net, x: twice(torch_norm, net.a, x),
        lambda p, x: twice(jax_norm, functools.partial(linear, p, "a"), x),
    )
    first = report.first
    assert first is not None and first.tested
    assert first.cause.startswith(cause)
