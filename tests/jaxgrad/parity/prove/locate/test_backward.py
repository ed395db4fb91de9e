"""Backward divergences are located, even in a quantizer that computes a difference twice."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch import Tensor, nn

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.locate import backward as locate_backward
from jaxgrad.parity.prove.record.jax_side.program import Spot
from jaxgrad.parity.prove.record.torch_side.values import TorchRun, Value
from parity_tests.case import identity
from tests.jaxgrad.parity.prove._helpers import arrays, draw


X = np.random.default_rng(0).standard_normal((3, 4))


def value(op: str, *inputs: int) -> Value:
    return Value("m", op, inputs, (3, 4), fingerprint(X), cotangent=fingerprint(X))


def run(*values: Value, **contributions: np.ndarray) -> TorchRun:
    """Return a run of three calls; `v1` and `v2` are two calls' contributions to a cotangent."""
    parts = {int(name[1:]): x for name, x in contributions.items()}
    return TorchRun(list(values), [], {}, [], {}, [], {}, None, [], [], parts)


def culprit(record: TorchRun, expected: np.ndarray | None, actual: np.ndarray) -> Any:
    return locate_backward.culprit(0, expected, actual, record, (X, X))


class Quantizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(3, 2)
        self.codes = nn.Embedding(5, 2)

    def forward(self, x: Tensor) -> Any:
        z = self.enter(x)
        q = self.codes(torch.cdist(z, self.codes.weight).argmin(-1))
        mse = nn.functional.mse_loss
        return z + (q - z).detach(), mse(q, z.detach()) + 0.25 * mse(q.detach(), z)


def quantizer(
    weights: tuple[float, float] = (1.0, 0.25),
    through: Callable[[Any], Any] = lax.stop_gradient,
) -> Report:
    torch.manual_seed(0)
    module = Quantizer()
    p = arrays(module)

    def apply(p: Any, x: Any) -> Any:
        z = x @ p["enter.weight"].T + p["enter.bias"]
        book = p["codes.weight"]
        q = book[jnp.argmin(((z[:, None] - book) ** 2).sum(-1), -1)]
        codebook = ((q - lax.stop_gradient(z)) ** 2).mean()
        commitment = ((lax.stop_gradient(q) - z) ** 2).mean()
        loss = weights[0] * codebook + weights[1] * commitment
        return z + through(q - z), loss

    return prove(module, apply, p, (draw(6, 3),))


@pytest.mark.slow
def test_a_difference_computed_twice_is_located_correctly():
    """Swapped loss weights and a missing stop_gradient are located at their own calls."""
    quantizer().check()
    swapped = quantizer(weights=(0.25, 1.0)).first
    assert swapped is not None
    assert (swapped.surface, swapped.torch, swapped.op) == ("backward", "(root)", "mse_loss")
    assert "0.25 times torch's" in swapped.cause
    lost = quantizer(through=identity).first
    assert lost is not None
    assert (lost.surface, lost.torch, lost.op) == ("backward", "(root)", "detach")


def test_a_call_without_a_gradient_in_jax_is_located():
    """A consumer whose contribution is missing in JAX is located."""
    record = run(value("input"), value("tanh", 0), value("exp", 0), v1=X, v2=X**2)
    call, cause = culprit(record, X + X**2, X)

    assert call == 2
    assert cause.startswith("JAX passes no gradient through this call")


def test_a_call_with_a_scaled_gradient_is_located():
    """A consumer whose contribution is three times torch's is located with the factor."""
    record = run(value("input"), value("tanh", 0), value("exp", 0), v1=X, v2=X**2)

    assert culprit(record, X + X**2, 3 * X + X**2) == (
        1,
        "JAX's gradient through this call is 3 times torch's",
    )


def test_the_calls_inside_a_custom_function_are_not_its_consumers():
    """The Function has the whole gradient, which its `forward` does not compute."""
    record = run(value("input"), value("round", 0), value("Quant", 1, 0), value("exp", 0), v3=X**2)
    record.values[1].cotangent, record.values[2].function = None, "Reverse"

    assert culprit(record, X + X**2, X**2) == (2, "JAX passes no gradient through this call")
    assert culprit(record, X + X**2, X**3)[0] == 2


def test_a_detach_in_torch_alone_is_located():
    """A consumer that torch detaches and JAX does not is located."""
    record = run(value("input"), value("tanh", 0), value("detach", 0), v1=X)
    call, cause = culprit(record, X, X + X**2)

    assert (call, cause) == (2, "torch stops the gradient here, JAX does not")


def test_a_value_without_a_cotangent_in_torch_is_located():
    """The detach of a value that has no cotangent in torch is located."""
    record = run(value("input"), value("tanh", 0), value("detach", 0))

    assert culprit(record, None, X) == (2, "torch stops the gradient here, JAX does not")


def test_the_nearest_weights_are_upstream():
    """The nearest weights are those of the last earlier call with weights, or else the input."""
    weight = value("linear", 0)
    weight.weights = ("fc.weight",)
    record = run(value("input"), weight, value("tanh", 1))

    assert locate_backward.nearest_weights(record, 2) == {"fc.weight"}
    assert locate_backward.nearest_weights(record, 0) == {"input"}


def test_one_factor_for_all_consumers_is_said():
    """A gradient that is half of torch's through every consumer is not called several errors."""
    record = run(value("input"), value("tanh", 0), value("exp", 0), v1=X, v2=X**2)

    assert culprit(record, X + X**2, (X + X**2) / 2)[1] == (
        "JAX's gradient through all consumers is 0.5 times torch's"
    )
    assert culprit(record, X + X**2, 0 * X)[1] == "JAX's gradient through all consumers is zero"


class Advantage(nn.Module):
    """An actor-critic loss, whose advantage has no gradient."""

    def __init__(self):
        super().__init__()
        self.value, self.policy = nn.Linear(3, 1), nn.Linear(3, 1)

    def forward(self, x: Tensor, reward: Tensor) -> Tensor:
        v = self.value(x)[:, 0]
        with torch.no_grad():
            target = reward + 0.9 * v.roll(-1)
            advantage = torch.tanh(target - v)
        chosen = nn.functional.logsigmoid(self.policy(x))[:, 0]
        return (advantage * chosen).mean() + ((target - v) ** 2).mean()


def advantage(stop: Any = lax.stop_gradient, stop_target: Any = lax.stop_gradient) -> Report:
    torch.manual_seed(0)
    module = Advantage()

    def apply(p: Any, x: Any, reward: Any) -> Any:
        v = (x @ p["value.weight"].T + p["value.bias"])[:, 0]
        target = stop_target(reward + 0.9 * jnp.roll(v, -1))
        gain = stop(jnp.tanh(target - v))
        chosen = jax.nn.log_sigmoid(x @ p["policy.weight"].T + p["policy.bias"])[:, 0]
        return (gain * chosen).mean() + ((target - v) ** 2).mean()

    return prove(module, apply, arrays(module), (draw(5, 3), draw(5)))


def test_a_value_that_torch_computes_under_no_grad_is_located():
    """A missing stop_gradient is located at the use of the value, or where it is made for two."""
    advantage().check()
    gain = advantage(stop=identity).first
    assert gain is not None and gain.surface == "backward"
    assert "gain * chosen" in gain.source and "a stop_gradient is missing there" in gain.cause
    target = advantage(stop_target=identity).first
    assert target is not None and target.surface == "backward"
    assert "stop_target(reward" in target.source and "gradient is missing there" in target.cause


def several(*parts: tuple[str, np.ndarray, float]) -> list[int]:
    """Return the consumers to blame if JAX has each contribution times a number."""
    values = [value("input"), *(value(op, 0) for op, _, _ in parts)]
    record = run(*values, **{f"v{n}": x for n, (_, x, _) in enumerate(parts, 1)})
    rest = sum((f * x for _, x, f in parts), np.zeros_like(X)).ravel()
    total = sum((x for _, x, _ in parts), np.zeros_like(X))
    index = np.arange(X.size)
    return locate_backward._several(record, list(range(1, len(values))), total, rest, index)


A, B, C = (np.random.default_rng(n).standard_normal((3, 4)) for n in (4, 5, 6))


def test_consumers_of_one_op_may_share_a_factor():
    """A consumer with another op is right."""
    assert several(("mul", A, 2.0), ("exp", B, 0.0), ("mul", C, 2.0)) == [1, 3]


def test_each_consumer_may_have_its_own_factor():
    """Consumers with different factors are found, without those whose contribution is right."""
    assert several(("mul", A, 2.0), ("exp", B, 0.0), ("tan", C, -1.0)) == [1, 3]
    assert several(("mul", A, 2.0), ("mul", B, 3.0)) == [1, 2]


def test_a_difference_that_no_factors_explain_has_no_consumers():
    """No consumers are named if no factors explain a difference, or if the value is too small."""
    record = run(value("input"), value("mul", 0), value("exp", 0), v1=A, v2=B)
    index = np.arange(12)
    assert locate_backward._several(record, [1, 2], A + B, C.ravel(), index) == []
    few = run(value("input"), value("mul", 0), value("exp", 0), v1=A[0], v2=B[0])
    rest = 2 * A[0] + 3 * B[0]
    assert locate_backward._several(few, [1, 2], A[0] + B[0], rest, np.arange(4)) == []


@pytest.mark.parametrize(
    ("change", "noise", "size", "differs"),
    [
        (0.0, 0.0, 1.0, False),
        (1e-3, 0.0, 1.0, True),
        (1e-9, 0.0, 1.0, True),
        (1e-9, 1e-9, 1.0, False),
        (1e-7, 1e-9, 1.0, True),
        (1e-3, 1.0, 1.0, False),
        (1e-3, 0.0, 1e-14, False),
        (1e-3, 0.0, 1e-12, True),
    ],
)
def test_a_wrong_cotangent_is_larger_than_rounding(change, noise, size, differs):
    """A cotangent that rounding changes by much, or that is negligible, is not wrong."""
    record = run(value("input"), value("tanh", 0))
    record.values[1].cotangent = fingerprint(size * X)
    keys = [((i,), 0) for i in range(2)]
    spots = {i: Spot((i,), 0) for i in range(2)}
    cotangents = {keys[0]: X, keys[1]: size * X * (1 + change)}
    numbers = locate_backward.wrong(record, spots, cotangents, {1: noise})
    assert numbers == ([1] if differs else [])


def test_a_cotangent_of_one_framework_is_wrong():
    """If torch has no cotangent for a value, JAX's is compared with zeros."""
    record = run(value("input"), value("tanh", 0))
    record.values[0].cotangent = None
    spots = {i: Spot((i,), 0) for i in range(2)}
    found = locate_backward.wrong(record, spots, {((0,), 0): X, ((1,), 0): X}, {})
    assert found == [0]
    found = locate_backward.wrong(record, spots, {((0,), 0): 0 * X, ((1,), 0): 0 * X}, {})
    assert found == [1]
    assert locate_backward.wrong(record, {}, {}, {}) == []


def test_weights_behind_a_value_without_a_gradient_are_not_near():
    """The search ends at calls with weights and at values that torch detaches."""
    values = [value("input"), value("linear", 0), value("detach", 1), value("linear", 0),
              value("add", 2, 3)]  # fmt: skip
    values[1].weights, values[3].weights = ("a",), ("b",)
    values[2].cotangent = None
    assert locate_backward.nearest_weights(run(*values), 4) == {"b"}
    assert locate_backward.nearest_weights(run(*values), 2) == {"a"}


@pytest.mark.parametrize(
    ("factor", "text"),
    [
        (3.0, "JAX's gradient through this call is 3 times torch's"),
        (-1.0, "JAX's gradient through this call is -1 times torch's"),
        (1.5, "JAX's gradient through this call is 1.5 times torch's"),
        (0.0, "JAX passes no gradient through this call"),
    ],
)
def test_the_factor_of_one_consumer_is_said(factor, text):
    """The consumer with the wrong contribution is found among several."""
    record = run(value("input"), value("tanh", 0), value("exp", 0), v1=A, v2=B)
    assert culprit(record, A + B, A + factor * B) == (2, text)


def test_a_consumer_is_found_within_rounding():
    """Noise of the cotangent widens the match, up to a hundredth of the difference."""
    record = run(value("input"), value("tanh", 0), value("exp", 0), v1=A, v2=B)
    off = A + 2 * B + 1e-5 * C

    def found(noise: float, actual: np.ndarray = off) -> Any:
        return locate_backward.culprit(0, A + B, actual, record, (X, X), noise)[1]

    text = "JAX's gradient through this call is 2"
    assert found(0.0) == "" and found(1e-5).startswith(text)
    assert found(1.0, A + 2 * B + 0.005 * C).startswith("JAX's gradient through this call is ")
    assert found(1.0, A + 2 * B + 0.5 * C) == ""


def test_a_call_without_a_contribution_has_the_rest():
    """The cotangent that the other consumers do not explain came through the custom function."""
    record = run(value("input"), value("tanh", 0), value("apply", 0), v1=A)
    parts = locate_backward._contributions(record, [1, 2], A + B)
    assert sorted(parts) == [1, 2]
    np.testing.assert_allclose(parts[2], B)
    assert locate_backward._contributions(record, [1], A) is record.contributions
    assert culprit(record, A + B, A + 2 * B)[0] == 2
    alone = run(value("input"), value("apply", 0))
    np.testing.assert_allclose(locate_backward._contributions(alone, [1], B)[1], B)


def test_consumers_that_only_rearrange_are_not_likely():
    """The first call that does more is the likely one; otherwise the first consumer."""
    record = run(value("input"), value("reshape", 0), value("tanh", 0), value("exp", 0))
    assert locate_backward._likely(record, [1, 2, 3]) == 2
    assert locate_backward._likely(record, [1]) == 1 and locate_backward._likely(record, []) is None
    other = np.full((3, 4), np.nan)
    v1, v2 = A, B
    record = run(value("input"), value("reshape", 0), value("tanh", 0), v1=v1, v2=v2)
    assert culprit(record, A + B, other) == (2, "")
    assert culprit(record, A + B, A + B + C) == (2, "")
    unlike = locate_backward.culprit(0, A + B, A, record, (X, X + 1))
    assert unlike == (2, "")


def test_the_detach_of_a_silent_consumer_is_named():
    """Consumers without a contribution are searched for a detach if no factor fits."""
    record = run(value("input"), value("tanh", 0), value("exp", 0), value("detach", 0), v1=A, v2=B)
    record.values[3].cotangent = None
    text = "torch stops the gradient here, JAX does not"
    assert culprit(record, A + B, A + B + C) == (3, text)
    none = run(value("input"), value("tanh", 0))
    assert culprit(none, None, A) == (1, "torch stops the gradient here, JAX does not")
    alone = run(value("input"))
    assert culprit(alone, None, A)[0] is None


def alignment(*first: int, **fields: Any) -> Any:
    return SimpleNamespace(first=first, **fields)


@pytest.mark.parametrize(
    ("ops", "first", "end"),
    [
        (("reshape", "transpose"), (0, 0, 0), 2),
        (("reshape", "tanh"), (0, 0, 2), 1),
        (("tanh",), (0, 1), 0),
        (("getitem",), (0, 1), 0),
        ((), (0,), 0),
    ],
)
def test_views_of_a_value_are_followed(ops, first, end):
    """A view that only a part of the value, a second consumer and a call end the chain."""
    values = [value("input"), *(value(op, i) for i, op in enumerate(ops))]
    assert locate_backward.last_view(run(*values), alignment(*first), 0) == end
    branched = run(*values, value("exp", 0), value("log", 0))
    assert locate_backward.last_view(branched, alignment(*first, 9, 9), 0) == 0


@pytest.mark.parametrize(
    ("ops", "first", "cotangents", "end"),
    [
        (("reshape", "tanh"), (0, 0, 2), (X, X, X), 2),
        (("dropout", "tanh"), (0, 0, 2), (X, X, X), 2),
        (("relu", "tanh"), (0, 0, 2), (X, X, X), 1),
        (("reshape", "tanh"), (0, 0, 2), (X, -X, X), 1),
        (("reshape", "tanh"), (0, 0, 2), (X, None, X), 1),
        (("reshape", "tanh"), (0, 0, 2), (None, X, X), 2),
        (("reshape",), (0, 0), (X, X), None),
        (("tanh",), (0, 1), (X, X), 1),
    ],
)
def test_a_consumer_behind_views_is_found(ops, first, cotangents, end):
    """A call that changes the cotangent but not the value is a consumer of its own."""
    values = [value("input"), *(value(op, i) for i, op in enumerate(ops))]
    for v, c in zip(values, cotangents, strict=True):
        v.cotangent = None if c is None else fingerprint(c)
    record = run(*values)
    assert locate_backward.past_views(record, alignment(*first), 0, 1) == end
    assert locate_backward.past_views(record, alignment(*first), 0, None) is None
    assert locate_backward.first_consumer(record, 0) == 1
    assert locate_backward.first_consumer(record, len(ops)) is None


def test_the_contribution_of_a_view_decides_with_several_consumers():
    """The cotangent of a view is compared with its part of the value's cotangent."""
    record = run(value("input"), value("reshape", 0), value("tanh", 1), value("exp", 0), v1=A, v3=B)
    record.values[1].cotangent = fingerprint(A)
    assert locate_backward.past_views(record, alignment(0, 0, 2, 3), 0, 1) == 2
    record.contributions = {1: B}
    assert locate_backward.past_views(record, alignment(0, 0, 2, 3), 0, 1) == 1


class Graph:
    """A flow in which the values 0 to 2 have two consumers each, and some values are stops."""

    def __init__(self, stops: Any = ()):
        self.stops = stops
        self.children = {((i,), 0): [((i + 1,), 0), ((i + 5,), 0)] for i in range(3)}
        self.order = {((i,), 0): -i if i < 5 else i for i in range(20)}

    def between(self, start: Any, goal: Any, barrier: Any, name: str) -> Any:
        assert name == "stop_gradient"
        return [key for key in self.stops if key not in barrier]

    def ahead(self, start: Any, barrier: Any) -> Any:
        found, todo = set(), list(start)
        while todo:
            for key in self.children.get(todo.pop(), []):
                found.add(key)
                todo.append(key)
        return found


def test_the_first_equation_on_a_path_is_returned():
    """A stop_gradient on the path comes first, then the consumer that leads to the target."""
    key = lambda i: ((i,), 0)  # noqa: E731
    aligned = alignment(
        spots=[Spot((i,), 0) for i in range(12)], candidates=((3,), (5,), ()), known=set()
    )

    def first(target: Any, start: int = 0, stops: Any = ()) -> Any:
        flow: Any = Graph(stops)
        return locate_backward.first_equation(flow, aligned, Spot((start,), 0), target)

    assert first(0) == key(1) and first(1) == key(5) and first(2) == key(1)
    assert first(None) == key(0) and first(0, start=9) == key(9)
    assert first(0, stops=[key(2)]) == key(2)
    aligned.known = {key(2)}
    assert first(0, stops=[key(2)]) == key(1)
    same: Any = {key(2)}
    stop: Any = Graph([key(2)])
    assert locate_backward.first_equation(stop, aligned, Spot((0,), 0), 0, same) == key(2)
