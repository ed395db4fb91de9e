"""A right port passes where rounding errors grow and at ties; an error of 1e-6 never does."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from jaxgrad import functional
from jaxgrad.parity import prove
from tests.jaxgrad.parity.prove._helpers import arrays


F = functional.at(".".join(torch.__version__.split(".")[:2]))
ERROR = 1 + 1e-6
SEEDS = range(3)


class Kind(NamedTuple):
    """A module, its port with a factor that is 1 if the port is right, and inputs."""

    module: Callable[[], nn.Module]
    port: Callable[[float], Callable[..., Any]]
    inputs: Callable[[int], tuple[np.ndarray, ...]]


def normal(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def linear(p: Any, name: str, x: Any) -> Any:
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


class Squash(nn.Module):
    """The log-probability of a tanh-squashed action; tanh saturates."""

    def __init__(self):
        super().__init__()
        self.mean = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return torch.log(1 - torch.tanh(self.mean(x)).pow(2) + 1e-6).sum(1).mean()


def squash(factor: float) -> Any:
    def port(p, x):
        squared = jnp.tanh(linear(p, "mean", x)) ** 2
        return factor * jnp.log(1 - squared + 1e-6).sum(1).mean()

    return port


class Normalised(nn.Module):
    """The variance is a small difference of large squares, or is computed as it should be."""

    def __init__(self, stable: bool):
        super().__init__()
        self.stable = stable
        self.l = nn.Linear(4, 5)

    def forward(self, x: Tensor) -> Tensor:
        h = self.l(x) + 100
        mean = h.mean(1, keepdim=True)
        squares = (h * h).mean(1, keepdim=True) - mean**2
        variance = h.var(1, unbiased=False, keepdim=True) if self.stable else squares
        return (h - mean) / torch.sqrt(variance + 1e-3)


def normalised(factor: float) -> Any:
    def port(p, x):
        h = linear(p, "l", x) + 100
        mean = h.mean(1, keepdims=True)
        return factor * (h - mean) / jnp.sqrt((h * h).mean(1, keepdims=True) - mean**2 + 1e-3)

    return port


class Directions(nn.Module):
    """A difference of nearly equal numbers, divided by its norm."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        d = self.l(x + 1e-6) - self.l(x)
        return d / d.norm(dim=1, keepdim=True)


def directions(factor: float) -> Any:
    def port(p, x):
        d = linear(p, "l", x + 1e-6) - linear(p, "l", x)
        return factor * d / jnp.linalg.norm(d, axis=1, keepdims=True)

    return port


class LogDifference(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        h = self.l(x)
        return torch.log(torch.sigmoid(h + 1e-4) - torch.sigmoid(h))


def log_difference(factor: float) -> Any:
    def port(p, x):
        h = linear(p, "l", x)
        return factor * jnp.log(jax.nn.sigmoid(h + 1e-4) - jax.nn.sigmoid(h))

    return port


class RealNVP(nn.Module):
    """The loss of six affine couplings whose scales saturate."""

    def __init__(self):
        super().__init__()
        self.nets = nn.ModuleList(
            nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 6)) for _ in range(6)
        )

    def forward(self, x: Tensor) -> Tensor:
        total = torch.zeros(len(x), dtype=x.dtype)
        a, b = x.chunk(2, 1)
        for net in self.nets:
            scale, shift = net(a).chunk(2, 1)
            scale = 2 * torch.tanh(scale)
            a, b = b * torch.exp(scale) + shift, a
            total = total + scale.sum(1)
        return (0.5 * torch.cat([a, b], 1).square().sum(1) - total).mean()


def real_nvp(factor: float) -> Any:
    def port(p, x):
        total = 0.0
        a, b = jnp.split(x, 2, 1)
        for k in range(6):
            h = linear(p, f"nets.{k}.2", jax.nn.relu(linear(p, f"nets.{k}.0", a)))
            scale, shift = jnp.split(h, 2, 1)
            scale = 2 * factor * jnp.tanh(scale)
            a, b = b * jnp.exp(scale) + shift, a
            total = total + scale.sum(1)
        return (0.5 * jnp.square(jnp.concatenate([a, b], 1)).sum(1) - total).mean()

    return port


class Pool(nn.Module):
    """The maxima of segments in which two nodes are equal."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 4)

    def forward(self, x: Tensor, segment: Tensor) -> Tensor:
        h = torch.relu(self.fc(x))
        index = segment[:, None].expand_as(h)
        zeros = torch.zeros(2, 4, dtype=h.dtype)
        return zeros.scatter_reduce(0, index, h, "amax", include_self=False)


def pool(factor: float) -> Any:
    def port(p, x, segment):
        h = jax.nn.relu(linear(p, "fc", x))
        return factor * jax.ops.segment_max(h, segment, num_segments=2)

    return port


class PooledNorm(nn.Module):
    """The maximum of normalised nodes over each graph."""

    def __init__(self):
        super().__init__()
        self.fc, self.norm = nn.Linear(3, 8), nn.LayerNorm(8)
        self.gate, self.out = nn.Linear(8, 1), nn.Linear(8, 2)

    def forward(self, x: Tensor, segment: Tensor, y: Tensor) -> Tensor:
        h = self.norm(self.fc(x))
        index, zeros = segment[:, None].expand_as(h), torch.zeros(4, 8, dtype=h.dtype)
        top = zeros.scatter_reduce(0, index, h, "amax", include_self=False)
        mean = zeros.index_add(0, segment, torch.sigmoid(self.gate(h)) * h)
        return ((self.out(top + mean) - y) ** 2).mean()


def test_a_maximum_that_XLA_rounds_in_two_ways_has_a_gradient():  # noqa: N802
    """XLA computes the nodes once for the maxima and once more to find them."""
    torch.manual_seed(0)
    module = PooledNorm()

    def port(p: Any, x: Any, segment: Any, y: Any) -> Any:
        h = linear(p, "fc", x)
        h = (h - h.mean(-1, keepdims=True)) / jnp.sqrt(h.var(-1, keepdims=True) + 1e-5)
        h = h * p["norm.weight"] + p["norm.bias"]
        index, zeros = jnp.broadcast_to(segment[:, None], h.shape), jnp.zeros((4, 8), h.dtype)
        top = functional.scatter_reduce(zeros, 0, index, h, "amax", include_self=False)
        gate = jax.nn.sigmoid(linear(p, "gate", h))
        mean = zeros.at[segment].add(gate * h)
        return ((linear(p, "out", top + mean) - y) ** 2).mean()

    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(22, 3)), rng.normal(size=(4, 2))
    inputs = (x, np.repeat(np.arange(4), [5, 6, 4, 7]), y)
    report = prove(module, port, arrays(module), inputs)
    assert report.verdict == "pass", str(report)


def first_of_equals(p: Any, x: Any, segment: Any) -> Any:
    """Give the first of equal nodes the whole gradient."""
    h = jax.nn.relu(linear(p, "fc", x))

    def pick(k):
        at = jnp.where(segment[:, None] == k, h, -1).argmax(0)
        return jnp.take_along_axis(h, at[None], 0)

    return jnp.concatenate([pick(0), pick(1)])


class Clamped(nn.Module):
    """Pixels of which some are 0 and some are 1."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.l(x.clamp(0, 1))


def clamped(factor: float) -> Any:
    return lambda p, x: linear(p, "l", factor * F.clamp(x, 0, 1))


def nodes(_: int) -> tuple[np.ndarray, ...]:
    """Return five nodes, of which the first two are equal and are often the largest."""
    x = normal(3, 5, 3)
    x[1] = x[0]
    return x, np.array([0, 0, 0, 1, 1])


def pixels(seed: int) -> tuple[np.ndarray, ...]:
    return (np.random.default_rng(seed).integers(0, 5, (4, 3)).astype(np.float32) / 4,)


KINDS = {
    "squash": Kind(Squash, squash, lambda seed: (10 * (1 + seed) * normal(seed, 6, 3),)),
    "unstable": Kind(lambda: Normalised(False), normalised, lambda seed: (normal(seed, 6, 4),)),
    "stable": Kind(lambda: Normalised(True), normalised, lambda seed: (normal(seed, 6, 4),)),
    "directions": Kind(Directions, directions, lambda seed: (normal(seed, 5, 4),)),
    "log difference": Kind(LogDifference, log_difference, lambda seed: (normal(seed, 5, 4),)),
    "real nvp": Kind(RealNVP, real_nvp, lambda seed: ((1 + seed) * normal(seed, 8, 6),)),
    "segments": Kind(Pool, pool, nodes),
    "bounds": Kind(Clamped, clamped, pixels),
}


def proved(kind: Kind, seed: int, port: Any) -> Any:
    torch.manual_seed(seed)
    module = kind.module()
    return prove(module, port, arrays(module), kind.inputs(seed), seed=seed)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", KINDS)
def test_a_right_port_passes(name, seed):
    """The difference is allowed for, or there is none at a tie."""
    kind = KINDS[name]
    report = proved(kind, seed, kind.port(1.0))

    assert report.verdict == "pass", str(report)
    assert "was detected" in report.surfaces["gradients"].control


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", KINDS)
def test_a_small_error_in_the_same_port_fails(name, seed):
    """What rounding allows for is less than an error of 1e-6."""
    kind = KINDS[name]
    assert proved(kind, seed, kind.port(ERROR)).verdict == "fail"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("name", "port"),
    [("segments", first_of_equals),
     ("bounds", lambda p, x: linear(p, "l", jnp.minimum(jnp.maximum(x, 0), 1)))],
)  # fmt: skip
def test_another_gradient_at_a_tie_or_a_bound_fails(name, port, seed):
    """Such a port is failed on the given inputs, and its error is not taken for rounding."""
    report = proved(KINDS[name], seed, port)

    assert report.surfaces["gradients"].verdict == "fail"
    assert "only with redrawn weights" not in report.surfaces["gradients"].text


class Cancelled(nn.Module):
    """A difference in which no more than a few digits are left."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        d = self.l(x + 1e-9) - self.l(x)
        return d / d.norm(dim=1, keepdim=True)


@pytest.mark.parametrize("factor", [1.0, ERROR])
def test_a_result_of_a_few_digits_is_inconclusive(factor):
    """An error of 1e-6 cannot be told from rounding, and the report names the call."""

    def port(p, x):
        d = linear(p, "l", x + 1e-9) - linear(p, "l", x)
        return factor * d / jnp.linalg.norm(d, axis=1, keepdims=True)

    report = proved(Kind(Cancelled, directions, lambda seed: (normal(seed, 5, 4),)), 0, port)

    assert report.verdict == "inconclusive"
    for surface in ("forward", "gradients"):
        text = report.surfaces[surface].text
        assert "too much to compare" in text and "torch and JAX differ by" in text
        assert "rounding errors grow most in torch's sub" in text


def test_a_control_states_the_size_of_the_error_that_is_detected():
    """Where rounding hides an error of 1e-9, a larger one is injected."""
    kind = KINDS["directions"]
    report = proved(kind, 0, kind.port(1.0))

    for name in ("forward", "gradients", "backward"):
        control = report.surfaces[name].control
        assert control.startswith(("an error of 1e-09", "an error of 1e-07")), control
