"""A bound or mask of torch that changes nothing is a note, unless the port has it too."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity import prove
from tests.jaxgrad.parity.prove._helpers import arrays


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)
REST = " changes no number on the inputs of this proof, and no such step was found"


class Head(nn.Linear):
    def __init__(self, bound: Any):
        super().__init__(3, 2)
        self.bound = bound

    def forward(self, input):
        return torch.tanh(self.bound(super().forward(input)))


class Model(nn.Module):
    def __init__(self, bound: Any):
        super().__init__()
        self.head = Head(bound)

    def forward(self, x):
        return self.head(x)


def notes(bound: Any, port: Any, **options: Any) -> list[str]:
    """Return the notes of a proof that passes."""
    torch.manual_seed(0)
    module = Model(bound)

    def apply(p: Any, x: Any) -> Any:
        return jnp.tanh(port(x @ p["head.weight"].T + p["head.bias"]))

    report = prove(module, apply, arrays(module), (X,), **options)
    assert report.verdict == "pass", str(report)
    return [note for note in report.notes if "changes no number" in note]


@pytest.mark.parametrize(
    ("bound", "op"),
    [
        (lambda x: x.clamp(-50, 50), "clamp"),
        (lambda x: torch.where(x < 50, x, 0.0), "where"),
        (lambda x: x.masked_fill(x > 50, 0.0), "masked_fill"),
        (lambda x: nn.functional.leaky_relu(x + 9, 0.2), "leaky_relu"),
    ],
    ids=["clamp", "where", "masked_fill", "leaky_relu"],
)
def test_a_bound_that_the_port_lacks_is_noted(bound, op):
    """The values agree without the bound, because no input reaches it."""
    (note,) = notes(bound, lambda x: x + 9 if op == "leaky_relu" else x)
    assert note.startswith(f"torch's {op} in head, test_idle_bounds.py:") and REST in note
    assert note.endswith("add inputs on which it acts, with also=")


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("bound", "port"),
    [
        (lambda x: x.clamp(-50, 50), lambda x: jnp.clip(x, -50, 50)),
        (lambda x: x.clamp(max=50), lambda x: jnp.minimum(x, 50)),
        (lambda x: torch.where(x < 50, x, 0.0), lambda x: jnp.where(x < 50, x, 0.0)),
        (lambda x: x.masked_fill(x > 50, 0.0), lambda x: x * (x <= 50)),
        (lambda x: x.clamp(-0.8, 0.8), lambda x: jnp.clip(x, -0.8, 0.8)),
        (lambda x: x * 1, lambda x: x),
        (torch.relu, jax.nn.relu),
        (lambda x: nn.functional.leaky_relu(x + 9), lambda x: jax.nn.leaky_relu(x + 9)),
        (lambda x: x.masked_fill(x > 50, -1e9), lambda x: jnp.where(x > 50, -1e30, x)),
    ],
    ids=["clip", "minimum", "where", "product", "reached", "no_bound", "relu", "slope", "fill"],
)
def test_what_the_port_has_too_is_not_noted(bound, port):
    """A step of the port that leaves the numbers as they are is a counterpart, whatever it is."""
    assert notes(bound, port) == []


@pytest.mark.parametrize(
    ("bound", "port", "op", "number"),
    [
        (lambda x: x.clamp(max=50), lambda x: jnp.minimum(x, 60), "clamp", "50"),
        (
            lambda x: nn.functional.leaky_relu(x + 9, 0.2),
            lambda x: jax.nn.leaky_relu(x + 9),
            "leaky_relu",
            "0.2",
        ),
    ],
)
def test_another_number_in_a_step_that_changes_nothing_is_noted(bound, port, op, number):
    (note,) = notes(bound, port)
    assert note.startswith(f"torch's {op} in head, test_idle_bounds.py:")
    assert note.endswith(
        f" changes no number on the inputs of this proof, and its number {number} was not found in "
        "the port: add inputs on which it acts, with also="
    )


def test_a_bound_of_torchs_own_that_no_number_reaches_is_not_noted():
    """`Categorical.entropy` clamps infinite logits."""

    class Entropy(nn.Linear):
        def forward(self, input):
            return torch.distributions.Categorical(logits=super().forward(input)).entropy()

    def port(p: Any, x: Any) -> Any:
        logp = jax.nn.log_softmax(x @ p["weight"].T + p["bias"])
        return -(jnp.exp(logp) * logp).sum(-1)

    module = Entropy(3, 4)
    report = prove(module, port, arrays(module), (X,))
    assert report.verdict == "pass" and not any("changes no number" in n for n in report.notes)


@pytest.mark.parametrize("clips", [True, False])
def test_a_bound_of_a_scalar_parameter_is_noted(clips):
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.tensor(1.5))

        def forward(self, x):
            return torch.tanh(x) * self.scale.clamp(max=4)

    def port(p: Any, x: Any) -> Any:
        return jnp.tanh(x) * (jnp.minimum(p["scale"], 4) if clips else p["scale"])

    module = Scaled()
    found = prove(module, port, arrays(module), (X,)).notes
    assert [note.partition(", ")[0] for note in found] == (
        [] if clips else ["torch's clamp in (root)"]
    )


def test_several_bounds_are_one_note():
    (note,) = notes(lambda x: x.clamp(max=50).clamp(min=-50), lambda x: x)
    assert "clamp in head, " in note and " (and 1 other call) changes no number" in note


def test_an_input_that_reaches_the_bound_fails():
    """`also=` takes the inputs that the note asks for."""
    torch.manual_seed(0)
    module = Model(lambda x: x.clamp(-2, 2))

    def apply(p: Any, x: Any) -> Any:
        return jnp.tanh(x @ p["head.weight"].T + p["head.bias"])

    report = prove(module, apply, arrays(module), (X / 10,), also=[(X * 10,)])
    assert report.verdict == "fail"


class Margins(nn.Module):
    """Two hinges that no input reaches."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 4)

    def forward(self, x):
        v = torch.tanh(self.l(x)).norm(dim=-1) + 0.2
        return torch.relu(5 - v).pow(2).mean() + torch.relu(v - 0.1).pow(2).mean()


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize(
    ("relu", "missing"),
    [(jax.nn.relu, False), (jax.jit(jax.nn.relu), False), (lambda x: jnp.maximum(x, 0), False),
     (lambda x: x, True)],
    ids=["relu", "jit", "maximum", "nothing"],
)  # fmt: skip
def test_a_bound_inside_of_a_custom_rule_is_found(relu, missing, seed):
    """`jax.nn.relu` has a derivative rule of its own, whose values are not recorded."""

    def port(p: Any, x: Any) -> Any:
        v = jnp.linalg.norm(jnp.tanh(x @ p["l.weight"].T + p["l.bias"]), axis=-1) + 0.2
        return (relu(5 - v) ** 2).mean() + (relu(v - 0.1) ** 2).mean()

    torch.manual_seed(seed)
    module = Margins()
    report = prove(module, port, arrays(module), (X,), seed=seed)
    found = [note for note in report.notes if "changes no number" in note]
    assert report.verdict == "pass", report
    assert bool(found) == missing, found
    if missing:
        assert found[0].startswith("torch's relu in (root), test_idle_bounds.py:")
        assert " (and 1 other call) changes no number" in found[0]


class Masked(nn.Module):
    """A mean over the elements of a mask, of which there is at least one."""

    def __init__(self, bound: Any):
        super().__init__()
        self.linear, self.bound = nn.Linear(3, 3), bound

    def forward(self, x, labels):
        keep = labels < 2
        return (self.linear(x) * keep[:, None]).sum() / self.bound(keep.sum())


COUNTS = {
    "clamp": lambda n: n.clamp(min=1),
    "maximum": lambda n: torch.maximum(n, torch.tensor(1)),
    "clamp_": lambda n: n.clamp_(min=1),
}


@pytest.mark.parametrize("op", COUNTS)
@pytest.mark.parametrize(
    ("count", "noted"),
    [
        (lambda n: n, True),
        (lambda n: jnp.maximum(n, 1), False),
        (lambda n: jnp.maximum(n.astype(float), 1.0), False),
        (lambda n: jnp.where(n > 0, n, 1), False),
        (lambda n: jnp.clip(n, 1), False),
    ],
    ids=["none", "maximum", "float", "where", "clip"],
)
def test_a_bound_of_a_count_that_changes_nothing_is_noted(op, count, noted):
    """A bound in place shows no operand, so that nothing is said of it."""
    module = Masked(COUNTS[op])

    def port(p: Any, x: Any, labels: Any) -> Any:
        keep = labels < 2
        h = x @ p["linear.weight"].T + p["linear.bias"]
        return (h * keep[:, None]).sum() / count(keep.sum())

    report = prove(module, port, arrays(module), (X, np.array([0, 1, 2, 3])))
    assert report.verdict == "pass"
    found = [note for note in report.notes if f"torch's {op} in (root)" in note and REST in note]
    assert bool(found) == (noted and op != "clamp_")


class Robust(nn.Linear):
    def __init__(self, loss: Any):
        super().__init__(3, 2)
        self.loss = loss

    def forward(self, input):
        return self.loss(super().forward(input), torch.zeros(4, 2), reduction="none")


def _delta(loss: Any, port: Any, **options: Any) -> list[str]:
    torch.manual_seed(0)
    module = Robust(loss)

    def apply(p: Any, x: Any) -> Any:
        return port(x @ p["weight"].T + p["bias"])

    report = prove(module, apply, arrays(module), (X,), **options)
    assert report.verdict == "pass", str(report)
    return [note for note in report.notes if "changes no number" in note]


def _squared(y: Any) -> Any:
    return 0.5 * y**2


def _huber(delta: float) -> Any:
    return lambda y: jnp.where(abs(y) <= delta, _squared(y), delta * (abs(y) - 0.5 * delta))


def test_a_threshold_that_no_number_exceeds_is_noted():
    """With small errors a Huber loss is half the square, whatever its delta is."""
    loss = functools.partial(nn.functional.huber_loss, delta=20.0)

    for port in (_squared, _huber(30.0)):
        (note,) = _delta(loss, port)
        assert note.startswith("torch's huber_loss in (root), test_idle_bounds.py:")
        assert note.endswith(
            " has delta=20, which changes no number on the inputs of this proof, and 20 was not "
            "found in the port: add inputs on which it acts, with also="
        )


def test_a_threshold_that_is_compared_is_not_noted():
    """The port has the number, or an input of `also=` exceeds it."""
    loss = functools.partial(nn.functional.huber_loss, delta=20.0)

    assert _delta(loss, _huber(20.0)) == []
    assert _delta(loss, _huber(20.0), also=[(100 * X,)]) == []
    assert _delta(functools.partial(nn.functional.huber_loss, delta=0.5), _huber(0.5)) == []


class Penalised(nn.Linear):
    """A penalty on large means, which the inputs may leave at zero."""

    def __init__(self, bound: float):
        super().__init__(3, 2)
        self.bound = bound

    def forward(self, input):
        y = super().forward(input)
        return y.square().mean() + torch.relu(y.mean(0) - self.bound).square().sum()


@pytest.mark.parametrize(("bound", "verdict"), [(9.0, "pass"), (-9.0, "fail")])
def test_a_penalty_that_is_zero_is_noted(bound, verdict):
    """The port takes the mean of the penalty where torch takes the sum."""
    torch.manual_seed(0)
    module = Penalised(bound)

    def apply(p: Any, x: Any) -> Any:
        y = x @ p["weight"].T + p["bias"]
        return (y**2).mean() + (jax.nn.relu(y.mean(0) - bound) ** 2).mean()

    report = prove(module, apply, arrays(module), (X,))

    assert report.verdict == verdict
    texts = [note for note in report.notes if "nothing but zeros" in note]
    assert [text.split(" returns")[0].split(":")[0] for text in texts] == (
        ["torch's relu in (root), test_idle_bounds.py"] if verdict == "pass" else []
    )
    assert all(
        text.endswith(
            " returns nothing but zeros on the inputs of this proof, so the steps after it were "
            "not compared: add inputs on which it does not, with also="
        )
        for text in texts
    )


class Lengths(nn.Module):
    """A model that averages over sequences, none of which is empty."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x, lengths):
        return self.fc(x).sum(1) / lengths[:, None].clamp(min=1)


@pytest.mark.parametrize("bounded", [True, False])
def test_a_bound_of_an_input_of_integers_is_found_in_the_port(bounded):
    """The port bounds the lengths before it adds an axis."""

    def port(p: Any, x: Any, lengths: Any) -> Any:
        n = jnp.maximum(lengths, 1) if bounded else lengths
        return (x @ p["fc.weight"].T + p["fc.bias"]).sum(1) / n[:, None]

    torch.manual_seed(0)
    module, x = Lengths(), np.random.default_rng(0).normal(size=(4, 5, 3))
    report = prove(module, port, arrays(module), (x, np.array([5, 2, 3, 4])))

    assert report.verdict == "pass"
    assert any("clamp" in note for note in report.notes) != bounded
