"""The backward surface reports the differing cotangent nearest to the loss, if it matters."""

import contextlib
import dataclasses
import functools
from collections.abc import Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad.parity import prove
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.causes.case import Explanation
from jaxgrad.parity.prove.clock import Clock
from jaxgrad.parity.prove.evidence import Evidence, gather
from jaxgrad.parity.prove.judge import CONTROL_SIZES, Judged
from jaxgrad.parity.prove.locate import cotangents as wrong_cotangent
from jaxgrad.parity.prove.record import adapters
from jaxgrad.parity.prove.record.torch_side.factory import open_torch_side
from jaxgrad.parity.prove.record.torch_side.values import TorchRun, Value
from jaxgrad.parity.prove.report import Finding
from jaxgrad.parity.prove.request import Request
from jaxgrad.parity.prove.surfaces import backward
from parity_tests.case import identity
from tests.jaxgrad.parity.prove._helpers import Net, arrays, port


X = np.random.default_rng(0).standard_normal(6)
WHY = Explanation("a cause", frozenset(), complete=True)


class Stopped(Net):
    """The same model, which stops the gradient of the norm."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.norm(torch.tanh(self.inner(x))).detach() + x)


@jax.custom_vjp
def tripled(x: Any) -> Any:
    return x


tripled.defvjp(lambda x: (x, None), lambda _, g: (3 * g,))


@jax.custom_vjp
def negated(x: Any) -> Any:
    return x


negated.defvjp(lambda x: (x, None), lambda _, g: (-g,))


@contextlib.contextmanager
def gathered(arguments: dict[str, Any], module: Any, fn: Any) -> Iterator[Evidence]:
    module.load_state_dict(arguments["module"].state_dict())
    request = Request(module, fn, arguments["params"], arguments["inputs"])
    with adapters.float64_on_cpu(), contextlib.closing(open_torch_side(request)) as side:
        yield gather(request, Clock(), side)


def without_module(evidence: Evidence) -> Evidence:
    """Return evidence that has no module to run, as that of a dump."""
    as_dumped = {"rerunnable": False, "idle": nullcontext}
    side: Any = SimpleNamespace(**vars(evidence.torch_side) | as_dumped)
    return dataclasses.replace(evidence, torch_side=side)


@pytest.fixture(scope="module")
def wrong(arguments: dict[str, Any]) -> Iterator[Evidence]:
    """The evidence for a port whose gradient of the norm is three times torch's."""
    with gathered(arguments, Net(), functools.partial(port, stop=tripled)) as found:
        yield found


def test_the_call_with_the_wrong_gradient_is_located(wrong):
    """The finding has the sizes of both cotangents, the factor, and the lines of both programs."""
    surface, notes, _ = backward.surface(wrong)
    (finding,) = surface.findings

    assert (surface.verdict, surface.text) == ("fail", "3 of 5 intermediate cotangents differ")
    assert (finding.torch, finding.op) == ("norm", "layer_norm") and not notes
    assert finding.jax.endswith("(rule)") and "_helpers.py:" in finding.torch_line
    sizes = [f"{abs(value):.6g}" for value in (finding.torch_value, finding.jax_value)]
    assert finding.text == (
        "the gradient flowing into the output of torch's norm (layer_norm) differs: its largest "
        f"element is {sizes[0]} in torch and {sizes[1]} in JAX"
    )
    assert finding.jax_value == pytest.approx(3 * finding.torch_value) and len(finding.index) == 2
    assert finding.cause == "JAX's gradient through this call is 3 times torch's"
    assert finding.source.endswith("lambda _, g: (3 * g,))")


def test_a_gradient_with_the_wrong_sign_has_both_signs(arguments):
    """The sizes are equal, so the sentence says so, and the numbers have their signs."""
    with gathered(arguments, Net(), functools.partial(port, stop=negated)) as found:
        (finding,) = backward.surface(found).surface.findings

    assert finding.text.endswith(
        "differs: the largest elements have the same size, but not every element agrees"
    )
    assert finding.torch_value == pytest.approx(-finding.jax_value) and finding.torch_value


def test_a_tested_cause_is_reported_with_its_place(wrong):
    """Cotangents that differ even without the cause are not, and a cause may have no place."""
    run, draw = wrong.runs[0], wrong.failed_gradient_draw
    number = max(backward._wrong(wrong, draw, wrong.jax_gradients[draw].cotangents))
    own = wrong_cotangent.locate(wrong, draw, number, WHY)
    assert (own.cause, own.edit) == ("a cause", None) and "custom_vjp_call" in own.jax

    key = next(k for k, eqn in wrong.port.program.equations.items() if eqn.primitive.name == "tanh")
    other = wrong_cotangent.locate(wrong, draw, number, WHY._replace(key=(key, 0)))
    assert other.jax.endswith("(tanh)") and len(run.values) > number

    cotangents = wrong.jax_gradients[draw].cotangents
    surface = backward.surface(wrong, WHY._replace(cotangents=cotangents)).surface
    assert (surface.verdict, surface.text) == ("pass", "5 intermediate cotangents agree")


def test_a_dump_locates_the_first_consumer(wrong):
    """A dump cannot be run again, so that the first consumer is located without a factor."""
    (finding,) = backward.surface(without_module(wrong)).surface.findings

    assert (finding.torch, finding.op, finding.cause) == ("norm", "layer_norm", "")
    assert finding.jax.endswith("(rule)")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dumped", [False, True])
def test_a_gradient_that_torch_stops_is_located_at_the_stop(arguments, dumped):
    """torch has no cotangent to compare with, and JAX has one."""
    with gathered(arguments, Stopped(), functools.partial(port, stop=identity)) as found:
        surface = backward.surface(without_module(found) if dumped else found).surface
    (finding,) = surface.findings

    assert (finding.torch, finding.op) == ("(root)", "detach")
    assert finding.cause == "torch stops the gradient here, JAX does not"
    assert ": torch has none, and JAX's largest element is" in finding.text
    assert finding.torch_value is None and finding.jax_value > 0


def test_a_right_port_has_a_negative_control(evidence):
    """Nothing is judged; the control is a cotangent that is changed inside of the port."""
    surface = backward.surface(evidence).surface
    assert surface.verdict == "not judged"
    assert surface.text == "5 intermediate cotangents are compared only if a gradient differs"
    assert surface.control.startswith("an error of 1e-09 injected into the cotangent at _helpers")


def test_one_cotangent_is_written_in_the_singular():
    """A loss of one operation has one intermediate cotangent, and one gradient."""

    class Summed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.x = torch.nn.Parameter(torch.tensor([0.0, 0.5, 2.0]))

        def forward(self) -> torch.Tensor:
            return torch.nn.functional.relu(self.x).sum()

    params = {"x": np.array([0.0, 0.5, 2.0], np.float32)}
    right, wrong = (
        prove(Summed(), lambda p, act=act: act(p["x"]).sum(), params, ())
        for act in (jax.nn.relu, lambda x: jax.numpy.maximum(x, 0))
    )
    compared = "1 intermediate cotangent is compared only if a gradient differs"
    assert right.surfaces["backward"].text == compared, str(right)
    assert wrong.surfaces["backward"].text == "1 intermediate cotangent agrees", str(wrong)
    assert wrong.surfaces["gradients"].text == "1 of 1 gradient differs: x"


def value(op: str = "add", *inputs: int, weights: Any = (), cotangent: Any = X) -> Value:
    print_ = None if cotangent is None else fingerprint(cotangent)
    return Value("", op, inputs, (6,), fingerprint(X), weights=weights, cotangent=print_)


def run(*values: Value, outputs: Any = ()) -> TorchRun:
    return TorchRun(list(values), [], {}, list(outputs), {}, [], {}, None, [], [], {})


def judged(name: str, verdict: str = "pass") -> Judged:
    return Judged(name, verdict, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("wrong", "stopped", "after", "worst"),
    [
        ([0, 1, 2], [], [], 2),
        ([0, 1, 2, 3], [], [], 2),  # the cotangent of an output is given
        ([0, 1, 2], [2], [], 1),
        ([0, 1, 2], [1, 2], [], 0),
        ([0, 1, 2], [0, 1, 2], [], None),
        ([0, 1, 2], [], [1, 2], 0),
        ([0, 1, 2], [], [0, 1, 2], None),
        ([3], [], [], None),
        ([0, 4], [], [], 0),  # which does not matter
    ],
)
def test_the_last_difference_inside_that_matters_is_located(
    monkeypatch, wrong, stopped, after, worst
):
    """Values whose gradient both programs stop, and differences that remain, are left out."""
    values = [value("input"), value("mul", 0), value("exp", 1), value("out", 2), value("dead", 0)]
    fake: Any = SimpleNamespace(
        failed_gradient_draw=0,
        spots=lambda draw=0: {0: None, 1: None},
        runs=[run(*values, outputs=[3, 2])],  # the second output is read again
        jax_gradients=[SimpleNamespace(cotangents="now")],
        locate=lambda find, plain: (plain, ()),
    )
    monkeypatch.setattr(backward, "_wrong", lambda _, __, c: wrong if c == "now" else after)
    monkeypatch.setattr(backward, "_matters", lambda _, __, i, ___: i != 4)
    monkeypatch.setattr(backward, "_stopped_too", lambda _, __, i: i in stopped)
    monkeypatch.setattr(backward, "_control", lambda _: "control")
    monkeypatch.setattr(backward, "_not_finite", lambda *_: False)
    monkeypatch.setattr(backward, "_rows", lambda _, __, *differ: differ)
    why: Any = WHY._replace(cotangents={"then": X}) if after else None
    surface = backward.surface(fake, why).surface

    if worst is None:
        assert (surface.verdict, surface.control) == ("pass", "control")
        assert surface.rows == (set(wrong), set())
        return
    where = "an input" if worst == 0 else f"the output of torch's {values[worst].in_words}"
    text = f"the gradient flowing into {where} differs"
    assert surface.findings == (
        Finding("backward", "(root)", "not located", text, op=values[worst].op),
    )
    assert "of 2 intermediate cotangents differ" in surface.text
    assert backward.surface(fake, WHY).surface.verdict == "fail" or after


@pytest.mark.parametrize(
    ("weights", "inputs", "matters"),
    [
        ([judged("w", "fail"), judged("v")], [judged("input x")], True),
        ([judged("w"), judged("v", "fail")], [judged("input x", "fail")], False),
        ([judged("w")], [judged("input x")], False),
        ([], [], True),
    ],
)
def test_a_difference_matters_if_a_gradient_near_it_differs(weights, inputs, matters):
    """Gradients farther upstream do not count; a gradient that was not compared does."""
    record = run(
        value("input"), value("linear", 0, weights=("v",)), value("mul", 1, weights=("w",))
    )
    fake: Any = SimpleNamespace(
        judged_gradients=[[*weights, *inputs]],
        runs=[record],
        torch_gradients=lambda _: {"w": X, "v": X, "input x": X},
    )
    assert backward._matters(fake, 0, 2) == matters


@pytest.mark.parametrize(
    ("right", "matters"), [(set(), True), ({0}, False), ({1}, True), ({3}, True), ({0, 1}, False)]
)
def test_an_error_that_reaches_no_gradient_does_not_matter(right, matters):
    """Two masks of one loss may be applied in another order: the value before them agrees."""
    record = run(
        value("embedding", weights=("w",)), value("mul"), value("mul", 0, 1), value("out", 2)
    )
    fake: Any = SimpleNamespace(
        judged_gradients=[[judged("w", "fail")]], runs=[record], torch_gradients=lambda _: {"w": X}
    )
    assert backward._matters(fake, 0, 2, right) == matters


class MaskedTwice(torch.nn.Module):
    """The hook is on the table: every cotangent of the port is right, and the gradient is not."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = torch.nn.Embedding(5, 5)
        self.table.weight.register_hook(lambda grad: grad.clamp(-0.3, 0.3))

    def forward(self, ids: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        loss = torch.nn.functional.cross_entropy(
            self.table(ids), labels, ignore_index=0, reduction="none"
        )
        return (2 * loss * (labels != 0)).sum()


def test_values_that_are_equal_by_a_mask_are_not_blamed():
    """torch ignores a label in the loss, and the port masks it after the loss."""

    def port(p: Any, ids: Any, labels: Any) -> Any:
        log_p = jax.nn.log_softmax(p["table.weight"][ids])
        loss = -jax.numpy.take_along_axis(log_p, labels[:, None], 1)[:, 0]
        return (2 * loss * (labels != 0)).sum()

    ids, labels = np.array([0, 1, 2, 3, 0]), np.array([1, 2, 0, 4, 0])
    module = MaskedTwice()
    report = prove(module, port, {"table.weight": module.table.weight.detach().numpy()},
                   (ids, labels))  # fmt: skip
    assert report.surfaces["backward"].verdict == "pass", str(report)
    assert report.first is not None and report.first.surface == "gradients"
    assert report.surfaces["gradients"].text == "1 of 1 gradient differs: table.weight"


@pytest.mark.parametrize(("verdict", "matters"), [("pass", False), ("fail", True)])
def test_the_gradients_of_inputs_count_near_an_input(verdict, matters):
    """A value without a weight or an input upstream always matters."""
    record = run(value("input"), value("exp", 0), value("made"))
    fake: Any = SimpleNamespace(
        judged_gradients=[[judged("input x", verdict), judged("w", "fail")]],
        runs=[record],
        torch_gradients=lambda _: {"w": X, "input x": X},
    )
    assert backward._matters(fake, 0, 1) == matters
    assert backward._matters(fake, 0, 2)


@pytest.mark.parametrize(
    ("cotangent", "copies", "stopped"),
    [
        (None, [X, 0 * X], True),
        (None, [X, X], False),
        (None, [], False),
        (X, [0 * X], False),
    ],
)
def test_a_copy_may_be_stopped_as_torchs_value_is(monkeypatch, cotangent, copies, stopped):
    """Only if torch stops the gradient."""
    fake: Any = SimpleNamespace(runs=[run(value(cotangent=cotangent))])
    monkeypatch.setattr(backward.wrong_cotangent, "copies", lambda *_: [(None, g) for g in copies])
    assert backward._stopped_too(fake, 0, 0) == stopped


@pytest.mark.parametrize(
    ("key", "wrong", "verdict", "detected"),
    [
        ("key", [1], "pass", True),
        ("key", [], "fail", True),
        ("key", [], "pass", False),
        (None, [1], "fail", False),
    ],
)
def test_a_control_is_detected_by_a_cotangent_or_a_gradient(
    monkeypatch, key, wrong, verdict, detected
):
    """Without a value to perturb there is none."""
    controls: list[Any] = []

    def gradients(draw: Any, control: float) -> Any:
        controls.append((draw, control))
        return SimpleNamespace(cotangents={})

    fake: Any = SimpleNamespace(
        control_key=key,
        draws=["first", "second"],
        gradients=gradients,
        judge_gradients=lambda number, _, control: [
            judged("w", verdict if number == 0 and control else "inconclusive")
        ],
        port=SimpleNamespace(program=None),
    )
    monkeypatch.setattr(backward, "_wrong", lambda _, draw, __: wrong if draw == 0 else [])
    monkeypatch.setattr(backward, "place", lambda *_: "a.py:1")
    assert bool(backward._control(fake)) == detected
    tried = CONTROL_SIZES[:1] if detected else CONTROL_SIZES
    assert controls == ([("first", 1 + size) for size in tried] if key else [])


class Scaled(torch.autograd.Function):
    """Half of the gradient."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return grads[0] * 0.5


class Advantage(torch.nn.Module):
    """A loss with a normalized difference behind a detach."""

    def __init__(self):
        super().__init__()
        self.b, self.pi, self.v = (torch.nn.Linear(n, m) for n, m in ((3, 4), (4, 1), (4, 1)))

    def forward(self, x, r):
        z = Scaled.apply(torch.tanh(self.b(x)))
        v = self.v(z)
        advantage = (r - v).detach()
        return (self.pi(z) * (advantage / advantage.std())).mean() + ((v - r) ** 2).mean()


def advantage(p: Any, x: Any, r: Any, *, scale: float, stops: bool = True) -> Any:
    def linear(name: str, x: Any) -> Any:
        return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]

    z = jnp.tanh(linear("b", x))
    z = scale * z + jax.lax.stop_gradient((1 - scale) * z)
    v = linear("v", z)
    difference = jax.lax.stop_gradient(r - v) if stops else r - v
    policy = linear("pi", z) * (difference / difference.std(ddof=1))
    return policy.mean() + ((v - r) ** 2).mean()


def test_a_cotangent_that_both_programs_lose_at_a_stop_is_no_difference():
    """What is computed from a stopped value has a cotangent in JAX, which reaches no parameter."""
    torch.manual_seed(0)
    module, numbers = Advantage(), np.random.default_rng(0)
    inputs = numbers.normal(size=(5, 3)), numbers.normal(size=(5, 1))
    params = arrays(module)
    right = functools.partial(advantage, scale=0.5)
    assert prove(module, right, params, inputs).verdict == "pass"

    unscaled = prove(module, functools.partial(advantage, scale=1.0), params, inputs).first
    assert unscaled is not None and unscaled.op == "Scaled", unscaled
    assert "torch's Scaled has a backward of its own" in unscaled.cause
    other = prove(module, functools.partial(advantage, scale=0.75), params, inputs).first
    assert other is not None and "is 1.5 times torch's" in other.cause

    lost = prove(module, functools.partial(right, stops=False), params, inputs).first
    assert lost is not None and "torch stops the gradient at " in lost.cause, lost
