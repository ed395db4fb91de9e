"""The values whose cotangents are compared, with those that custom Functions return."""

import dataclasses
import functools
import pathlib
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import Tensor, nn

import jaxgrad
from jaxgrad import functional
from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.align.align import Alignment
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.locate import compared
from jaxgrad.parity.prove.record.jax_side.flow import leaf_key
from jaxgrad.parity.prove.record.jax_side.program import Spot
from jaxgrad.parity.prove.record.torch_side.values import TorchRun, Value
from tests.jaxgrad.parity.prove._helpers import arrays, draw


X = np.random.default_rng(0).standard_normal((3, 4))


def value(op: str, *inputs: int) -> Value:
    return Value("m", op, inputs, (3, 4), fingerprint(X), cotangent=fingerprint(X))


def run(*values: Value) -> TorchRun:
    return TorchRun(list(values), [], {}, [], {}, [], {}, None, [], [], {})


class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        del ctx
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        del ctx
        return -0.5 * grads[0]


class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        del ctx
        return (4 * x).round() / 4

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        del ctx
        return grads[0]


class Adversarial(nn.Module):
    """Two heads on rounded features, the second behind a gradient reversal."""

    def __init__(self, quantized: bool):
        super().__init__()
        self.quantized = quantized
        self.features, self.label, self.domain = (nn.Linear(3, 3) for _ in range(3))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = torch.tanh(self.features(x))
        h = Round.apply(h) if self.quantized else h
        return self.label(h), self.domain(Reverse.apply(h))


def straight_through(x: Any) -> Any:
    return x + jax.lax.stop_gradient(jnp.round(4 * x) / 4 - x)


def proved(quantized: bool, factor: float, rounded: Callable[[Any], Any] | None = None) -> Report:
    torch.manual_seed(0)
    module = Adversarial(quantized)
    rounded = rounded or (straight_through if quantized else lambda x: x)

    @jax.custom_vjp
    def reverse(x: Any) -> Any:
        return x

    reverse.defvjp(lambda x: (x, None), lambda _, grad: (factor * grad,))

    def port(p: Any, x: Any) -> Any:
        def linear(name: str, x: Any) -> Any:
            return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]

        h = rounded(jnp.tanh(linear("features", x)))
        return linear("label", h), linear("domain", reverse(h))

    return prove(module, port, arrays(module), (draw(4, 3),))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("quantized", [True, False])
def test_a_wrong_gradient_reversal_is_located_at_the_function(quantized):
    """The finding names both backward rules; JAX's is the derivative of the forward pass."""
    assert proved(quantized, -0.5).verdict == "pass"
    first = proved(quantized, 1.0).first
    assert first is not None
    assert (first.surface, first.torch, first.op) == ("backward", "(root)", "Reverse")
    assert first.tested and first.cause.startswith("torch's Reverse has a backward of its own (")
    assert "JAX has the derivative of the forward pass" in first.cause
    other = proved(quantized, 1.5).first
    assert other is not None
    assert other.cause == "JAX's gradient through this call is -3 times torch's"
    place, _, name = other.jax.partition(" ")
    text = pathlib.Path(__file__).read_text(encoding="utf-8").splitlines()
    jaxs, torchs = (text[int(p.rpartition(":")[2]) - 1] for p in (place, other.torch_line))
    assert name == "(rule)" and "lambda _, grad:" in jaxs
    assert torchs.strip().startswith("def backward(") and other.source == f"{place}: {jaxs.strip()}"


class Encoded(nn.Module):
    """A head, and another one behind a reversal, of an encoding whose activation JAX jits."""

    def __init__(self):
        super().__init__()
        self.enc, self.head, self.site = nn.Linear(3, 4), nn.Linear(4, 3), nn.Linear(4, 2)

    def forward(self, x):
        z = nn.functional.elu(self.enc(x))
        y = self.head(z)
        smooth = ((y[:, 1:] - y[:, :-1].detach()) ** 2).mean()
        return (y**2).mean() + smooth + (self.site(Reverse.apply(z)) ** 3).mean()


def encoded(p: Any, x: Any, factor: float = -0.5, other: bool = False) -> Any:
    def linear(name: str, x: Any) -> Any:
        return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]

    z = jax.nn.elu(linear("enc", x))
    y = linear("head", z)
    sides = y[:, 1:], y[:, :-1]
    sides = (
        (jax.lax.stop_gradient(sides[0]), sides[1])
        if other
        else (sides[0], jax.lax.stop_gradient(sides[1]))
    )
    site = linear("site", jaxgrad.hook(z, lambda g: factor * g))
    return (y**2).mean() + ((sides[0] - sides[1]) ** 2).mean() + (site**3).mean()


@pytest.mark.parametrize(
    ("mistake", "op", "cause"),
    [
        ({"other": True}, "detach", "torch stops the gradient here, JAX does not"),
        ({"factor": 0.5}, "Reverse", "JAX's gradient through this call is -1 times torch's"),
    ],
)
def test_a_reversal_is_not_compared_with_the_jitted_activation_before_it(mistake, op, cause):
    """The activation has two keys in JAX, inside of its jitted function and outside of it."""
    torch.manual_seed(0)
    module = Encoded()
    port = functools.partial(encoded, **mistake)
    first = prove(module, port, arrays(module), (draw(5, 3),)).first
    assert first is not None
    assert (first.op, first.cause) == (op, cause)


class Clipped(torch.autograd.Function):
    """Rounds, and passes the gradient on inside [-1, 1] only."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.save_for_backward(x)
        return (4 * x.clamp(-1, 1)).round() / 4

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0] * (ctx.saved_tensors[0].abs() < 1)


class Rounded(nn.Module):
    def __init__(self, twice: bool):
        super().__init__()
        self.a, self.b, self.twice = nn.Linear(3, 3), nn.Linear(3, 2), twice

    def forward(self, x: Tensor) -> Tensor:
        h = 2 * self.a(x)
        return self.b(Clipped.apply(h) + (h.sin() if self.twice else 0))


def unequal(bound: float, *, twice: bool = False, sine: bool = False) -> Report:
    """Prove a port whose rule passes the gradient inside other bounds."""

    @jax.custom_vjp
    def clipped(x: Any) -> Any:
        return jnp.round(4 * jnp.clip(x, -1, 1)) / 4

    def clipped_bwd(x: Any, grad: Any) -> Any:
        return (grad * (abs(x) < bound),)

    clipped.defvjp(lambda x: (clipped(x), x), clipped_bwd)

    def port(p: Any, x: Any) -> Any:
        h = 2 * (x @ p["a.weight"].T + p["a.bias"])
        y = clipped(h) + (jnp.sin(h) if twice or sine else 0)
        y = y - jnp.sin(jax.lax.stop_gradient(h)) if sine else y
        return y @ p["b.weight"].T + p["b.bias"]

    torch.manual_seed(0)
    module = Rounded(twice)
    return prove(module, port, arrays(module), (draw(8, 3),))


@pytest.mark.parametrize(("bound", "zero"), [(9.0, "torch's"), (0.5, "JAX's")])
def test_backward_rules_that_differ_are_named(bound, zero):
    """The elements are counted where only one rule passes the gradient on."""
    assert unequal(1.0).verdict == "pass"
    first = unequal(bound).first
    assert first is not None and not first.tested
    assert (first.op, first.jax.partition(" ")[2]) == ("Clipped", "(clipped_bwd)")
    assert first.source.endswith(": def clipped_bwd(x: Any, grad: Any) -> Any:")
    assert re.fullmatch(
        "for the same incoming gradient, JAX's clipped_bwd and torch's Clipped.backward differ in "
        rf"\d+ of 24 elements, where {zero} result is 0",
        first.cause,
    )


@pytest.mark.parametrize("program", ["twice", "sine"])
def test_a_rule_beside_another_call_is_not_blamed(program):
    """If several calls read the value, the gradient that one of them returns is not known."""
    first = unequal(9.0, **{program: True}).first
    assert first is not None and "incoming gradient" not in first.cause


def test_a_missing_straight_through_estimator_is_located_at_the_function():
    """Rounding has no gradient in JAX, and torch's Function passes it on."""
    first = proved(True, -0.5, lambda x: jnp.round(4 * x) / 4).first
    assert first is not None
    assert first.op == "Round" and "torch's Round has a backward of its own" in first.cause
    assert not first.tested and "because the values are zero" in first.cause


def test_the_values_inside_a_function_are_not_stopped():
    """The Function's own `backward` has their gradient; a detached operand is stopped."""
    values = [value("linear"), value("round", 0), value("Round", 1, 0), value("detach", 0)]
    values[1].cotangent = values[3].cotangent = None
    values[1].requires_grad = values[3].requires_grad = False
    record = run(*values)
    assert compared.stopped(record) == {1, 3}
    values[2].function = "Reverse"
    assert compared.inside_functions(record) == {1}
    assert compared.stopped(record) == {3}
    values[2].inputs = (1, 0, 3)
    assert compared.stopped(record) == {3}


def test_values_under_no_grad_that_depend_on_weights_are_stopped():
    """Values of data alone are not stopped, since they have no gradient anyway."""
    weights, data, later, last = value("linear"), value("exp"), value("exp", 0), value("exp", 2)
    weights.weights, weights.requires_grad = ("w",), False
    for v in (data, later, last):
        v.requires_grad = False
    record = dataclasses.replace(run(weights, data, later, last), grads={"w": X})

    assert compared.stopped(record) == {0, 2, 3}
    assert compared.stopped(dataclasses.replace(record, grads={"w": None})) == set()


def test_a_value_has_siblings_if_one_call_returned_several():
    """Views of one call, as of `split`, are compared all the same."""
    numbers = [3, 3, 4, -1, -1, 5, 6, 5]
    ops = ["lstm", "lstm", "mul", "add", "add", "gru", "exp", "gru"]
    values = [value(op) for op in ops]
    for x, number in zip(values, numbers, strict=True):
        x.call_number = number
    record = run(*values)
    siblings = [compared._has_siblings(record, k) for k in range(len(values))]
    assert siblings == [True, True, False, False, False, True, False, True]
    record.values[0].op = "split"
    assert not compared._has_siblings(record, 0)


def chosen(*values: Value, closed: Any = (), **fields: Any) -> dict[int, int]:
    """Return the number of the JAX value that is compared with each torch value.

    By default each torch value is equal to the JAX value of its own number alone.
    """
    count = len(values)
    made: dict[str, Any] = {
        "candidates": tuple((i,) for i in range(count)),
        "trivial": (False,) * count,
        "first": tuple(range(count)),
        **fields,
    }
    spots = tuple(Spot((n,), 0) for n in range(9))
    if "leaf" in made:
        key = leaf_key(0)
        spots = (Spot(*key), *spots[1:])
        del made["leaf"]
    aligned = Alignment(spots=spots, repeats=((),) * count, **made)
    program: Any = SimpleNamespace(closed=set(closed))
    spots_by_value = compared.compared(run(*values), aligned, program)
    return {i: spots.index(spot) for i, spot in spots_by_value.items()}


def without(value: Value, **fields: Any) -> Value:
    return dataclasses.replace(value, **fields)


PLAIN = [value("exp", 0), value("mul", 0), value("add", 1)]


def test_each_value_is_compared_with_its_own():
    """Constants, single numbers, unmatched values and those inside custom rules are left out."""
    single = without(PLAIN[1], print=fingerprint(X[0, 0]))
    assert chosen(*PLAIN) == {0: 0, 1: 1, 2: 2}
    assert chosen(*PLAIN, trivial=(False, True, False)) == {0: 0, 2: 2}
    assert chosen(*PLAIN, candidates=((0,), (), (2, 3))) == {0: 0, 2: 2}
    assert chosen(PLAIN[0], single, PLAIN[2]) == {0: 0, 2: 2}
    assert chosen(PLAIN[0], without(single, print=fingerprint(X[0, :2])), PLAIN[2]) == {
        0: 0, 1: 1, 2: 2
    }  # fmt: skip
    assert chosen(*PLAIN, closed=[(1,)]) == {0: 0, 2: 2}
    assert chosen(*PLAIN, leaf=True) == {1: 1, 2: 2}
    twins = [without(v, call_number=n) for v, n in zip(PLAIN, (5, 5, 6), strict=True)]
    assert chosen(*twins) == {2: 2}


def test_values_without_a_gradient_are_compared_if_torch_stops_it():
    """A value of data alone has no gradient, and a view of a weight is compared as the weight."""
    data = without(value("exp"), requires_grad=False, cotangent=None)
    stopped = without(value("exp", 0), requires_grad=False, cotangent=None)
    assert chosen(data, stopped) == {}
    assert chosen(PLAIN[0], stopped) == {0: 0, 1: 1}
    assert chosen(value("view"), value("linear"), value("T", 0)) == {1: 1, 2: 2}


def test_copies_of_a_value_are_compared_once():
    """The first copy counts, unless only a later one has a gradient."""
    both = {"first": (0, 0, 2), "candidates": ((3, 4), (3, 4), (2,))}
    copies = [PLAIN[0], value("reshape", 0), PLAIN[2]]
    assert chosen(*copies, **both) == {0: 3, 2: 2}
    detached = without(PLAIN[0], cotangent=None)
    assert chosen(detached, *copies[1:], **both) == {1: 4, 2: 2}
    assert chosen(detached, without(copies[1], cotangent=None), PLAIN[2], **both) == {0: 3, 2: 2}


def test_the_results_of_functions_follow_each_other():
    """Each has its own JAX value, the last ones if torch's first copy has no gradient."""
    first, function = PLAIN[0], without(value("Reverse", 0), function="Reverse")
    pair = {"first": (0, 0), "candidates": ((3, 5), (3, 5))}
    assert chosen(first, function, **pair) == {0: 3, 1: 5}
    detached = without(first, cotangent=None)
    assert chosen(detached, function, **pair) == {1: 5}
    three = {"first": (0, 0, 0), "candidates": ((3, 5, 7),) * 3}
    assert chosen(detached, function, function, **three) == {1: 5, 2: 7}
    assert chosen(first, function, function, **three) == {0: 3, 1: 5, 2: 7}
    few = {"first": (0, 0, 0), "candidates": ((3,),) * 3}
    assert chosen(detached, function, function, **few) == {1: 3}


def test_an_input_that_is_pooled_is_compared_as_an_input():
    """A max pool reads its input through a stop_gradient, which is not compared nor perturbed."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1), nn.Conv2d(2, 2, 1))

    def network(p: Any, x: Any) -> Any:
        pooled = functional.max_pool2d(x, 3, stride=1, padding=1)
        return functional.conv2d(pooled, p["1.weight"], p["1.bias"])

    report = prove(module, network, arrays(module), (draw(2, 2, 6, 6),))

    assert report.verdict == "pass", str(report)
