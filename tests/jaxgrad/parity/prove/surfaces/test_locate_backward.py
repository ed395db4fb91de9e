"""Backward divergences are located, even in a quantizer that computes a difference twice."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax
from torch import Tensor, nn

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.surfaces import locate_backward
from jaxgrad.parity.prove.torch_side.values import TorchRun, Value
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
    record.values[1].cotangent, record.values[2].own_gradient = None, True

    assert culprit(record, X + X**2, X**2) == (2, "JAX passes no gradient through this call")
    assert culprit(record, X + X**2, X**3)[0] == 2


def test_a_detach_in_torch_alone_is_located():
    """A consumer that torch detaches and JAX does not is located."""
    record = run(value("input"), value("tanh", 0), value("detach", 0), v1=X)
    call, cause = culprit(record, X, X + X**2)

    assert (call, cause) == (2, "torch stops the gradient here, JAX does not; add a stop_gradient")


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
    """A missing stop_gradient is located at the use of the value, not at its operands."""
    advantage().check()
    gain = advantage(stop=identity).first
    assert gain is not None and gain.surface == "backward"
    assert "gain * chosen" in gain.source and "a stop_gradient is missing there" in gain.cause
    target = advantage(stop_target=identity).first
    assert target is not None and target.surface == "backward"
    assert "(target - v)" in target.source and "a stop_gradient is missing there" in target.cause


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
    """Those whose contribution is right are left out."""
    assert several(("mul", A, 2.0), ("exp", B, 0.0), ("tan", C, -1.0)) == [1, 3]
    assert several(("mul", A, 2.0), ("mul", B, 3.0)) == [1, 2]


def test_a_difference_that_no_factors_explain_has_no_consumers():
    """Neither has a single consumer, nor a value with few elements."""
    record = run(value("input"), value("mul", 0), value("exp", 0), v1=A, v2=B)
    index = np.arange(12)
    assert locate_backward._several(record, [1, 2], A + B, C.ravel(), index) == []
    few = run(value("input"), value("mul", 0), value("exp", 0), v1=A[0], v2=B[0])
    rest = 2 * A[0] + 3 * B[0]
    assert locate_backward._several(few, [1, 2], A[0] + B[0], rest, np.arange(4)) == []
