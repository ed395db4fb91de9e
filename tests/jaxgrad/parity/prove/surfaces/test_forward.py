"""The parts of the forward surface, on made outputs; whole proofs are in causes."""

import types
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch import nn

from jaxgrad.parity import prove
from jaxgrad.parity.prove.judge import Judged, judge
from jaxgrad.parity.prove.surfaces import forward
from tests.jaxgrad.parity.prove._helpers import arrays, draw


Y = np.array([[1.0, -2.0, 3.0]])


def evidence(torch: list[dict[str, Any]], port: list[list[Any]]) -> Any:
    """Return the outputs of both frameworks on each draw."""
    return types.SimpleNamespace(
        drawn=[types.SimpleNamespace(run=types.SimpleNamespace(outputs=y)) for y in torch],
        jax_runs=[types.SimpleNamespace(outputs=y) for y in port],
    )


@pytest.mark.parametrize(("name", "what"), [("", "output"), ("loss", "loss"), ("y", "output 'y'")])
def test_a_multiple_of_an_output_is_named(name, what):
    """The factor is the same on every draw; another output does not matter."""
    proof = evidence([{"a": Y, name: Y}, {"a": Y, name: 2 * Y}], [[Y, 3 * Y[0]], [Y, 6 * Y]])

    assert forward._multiple(proof, name or "output") == (
        f"JAX's {what} is torch's times 3, on both draws"
    )


@pytest.mark.parametrize(
    "port",
    [
        [[3 * Y], [4 * Y]],
        [[3 * Y + 1e-6], [3 * Y]],
        [[3 * Y[:, :2]], [3 * Y]],
        [[0 * Y], [0 * Y]],
        [[3 * Y], [3 * Y * (1 + 1e-8)]],
    ],
    ids=["differs", "not a multiple", "another size", "zero", "almost"],
)
def test_without_one_factor_nothing_is_said(port):
    """A factor that depends on the draw, or an output that is no multiple, has no sentence."""
    assert forward._multiple(evidence([{"": Y}, {"": Y}], port), "output") == ""


def test_a_zero_output_of_torch_has_no_factor():
    """Every number is a multiple of nothing."""
    assert forward._multiple(evidence([{"": 0 * Y}], [[Y]]), "output") == ""


def test_a_rounded_factor_is_recognised():
    """Differences of 1e-10 are rounding."""
    near = [[3 * Y * (1 + 1e-11)], [3 * Y]]
    assert "times 3," in forward._multiple(evidence([{"": Y}, {"": Y}], near), "output")


def test_a_difference_without_a_place_is_that_of_the_output():
    """The worst element and its numbers are named."""
    finding = forward._plain(judge("y", Y, Y + np.array([[0.0, 0.5, 0.0]])))

    assert (finding.torch, finding.jax, finding.text) == (
        "(the outputs)", "the output", "y differs"
    )  # fmt: skip
    assert (finding.index, finding.torch_value, finding.jax_value) == ((0, 1), -2.0, -1.5)
    assert forward._plain(judge("y", Y, Y), "port.py:3").jax == "port.py:3"


@pytest.mark.parametrize(
    ("key", "verdicts", "detected"),
    [
        ("b", ["pass", "fail"], "place of a"),
        ("a", ["fail", "pass"], "place of a"),
        ("a", ["pass", "fail"], "place of b"),
        ("a", ["pass", "pass"], ""),
    ],
)
def test_a_control_changes_one_value_until_an_output_differs(monkeypatch, key, verdicts, detected):
    """The value that the gradients' program perturbs is changed there, others on their own."""
    asked: list[Any] = []

    def outputs(draw: Any, scales: Any) -> str:
        asked.append((draw, *scales.items()))
        return "fail" if key == "b" else verdicts[1]

    def gradients(draw: Any, value: float) -> Any:
        asked.append((draw, value))
        return types.SimpleNamespace(outputs=verdicts[0] if key == "a" else "pass")

    spots = {n: types.SimpleNamespace(key=key, iteration=()) for n, key in enumerate("ab")}
    proof: Any = types.SimpleNamespace(
        control_values=[0, 1],
        control_key=key,
        alignments=[types.SimpleNamespace(spot=spots.get), None],
        draws=["first", "second"],
        port=types.SimpleNamespace(outputs=outputs, program=types.SimpleNamespace(equations={})),
        gradients=gradients,
        judge_outputs=lambda number, verdict, control: [
            types.SimpleNamespace(verdict=verdict if number == 0 else "pass")
        ],
    )
    monkeypatch.setattr(forward, "place", lambda _, key: f"place of {key}")
    text = forward._control(proof)

    changed = 1 + forward.CONTROL_SIZES[0]
    assert asked[0] == ("first", changed if key == "a" else ("a", changed))
    assert text == (detected and f"an error of 1e-09 injected at {detected} was detected")


def test_every_control_scales_the_same_values(monkeypatch):
    """The program has a factor for each value, so that it is compiled once for all controls.

    A value inside a loop, such as the last output of a recurrent layer, is no control.
    """
    asked: list[dict[str, float]] = []
    spots = {n: types.SimpleNamespace(key=key, iteration=()) for n, key in enumerate("abc")}
    spots[3] = types.SimpleNamespace(key="in a loop", iteration=(2,))
    proof: Any = types.SimpleNamespace(
        control_values=[0, 1, 2, 3],
        control_key="a",
        alignments=[types.SimpleNamespace(spot=spots.get)],
        draws=["first"],
        port=types.SimpleNamespace(outputs=lambda _, scales: asked.append(scales)),
        gradients=lambda _, value: types.SimpleNamespace(outputs=value),
        judge_outputs=lambda *_, control: [types.SimpleNamespace(verdict="pass")],
    )
    monkeypatch.setattr(forward, "place", lambda _, key: f"place of {key}")

    assert not forward._control(proof)
    errors = [1 + size for size in forward.CONTROL_SIZES]
    assert asked == [x for e in errors for x in ({"b": e, "c": 1}, {"b": 1, "c": e})]


def judged_outputs(*verdicts: str, first: str = "pass") -> Any:
    """Return evidence whose outputs have these verdicts on the second draw."""
    failed = 1 if "fail" in verdicts else 0 if first == "fail" else None

    def judge_outputs(number: int, _: Any) -> list[Any]:
        given = verdicts if number or failed is None else [first]
        return [Judged(f"y{n}", v, 0.5, 3.0, 2.0) for n, v in enumerate(given)]

    return types.SimpleNamespace(
        rerunnable=False,
        failed_output_draw=failed,
        judge_outputs=judge_outputs,
        jax_runs=[types.SimpleNamespace(outputs=[])] * 2,
        runs=[types.SimpleNamespace(calls=[types.SimpleNamespace(module=m, outputs=o)
                                           for m, o in (("", (1,)), ("a", (0,)), ("b", ()))])],
        not_visible=["a"],
        amplified=lambda number: f"; on draw {number}",
        locate=lambda find, plain, *_: (plain, ("a note",)),
    )  # fmt: skip


def undecided_on_the_second_draw() -> Any:
    """Return evidence of outputs that agree on the first draw, and may agree on the second."""
    proof = judged_outputs("pass")
    verdicts = ("pass", "inconclusive")
    proof.judge_outputs = lambda number, _: [Judged("y0", verdicts[number], 0.5, 4.0, 2.0)]
    return proof


@pytest.mark.parametrize(
    ("proof", "verdict", "text"),
    [
        (judged_outputs("zero", "fail"), "fail", "y1 is off by 0.25 (relative to its scale), but "
         "only with redrawn weights and inputs"),
        (judged_outputs(first="fail"), "fail", "y0 is off by 0.25 (relative to its scale)"),
        (judged_outputs("pass", "inconclusive"), "inconclusive",
         "y1: rounding alone changes it too much to compare (by up to 2 of its scale, and torch "
         "and JAX differ by 0.2; on draw 0)"),
        (undecided_on_the_second_draw(), "inconclusive",
         "y0: rounding alone changes it too much to compare with redrawn weights and inputs (by "
         "up to 2 of its scale, and torch and JAX differ by 0.2; on draw 1)"),
        (judged_outputs("pass", "zero"), "pass", "outputs agree within 0.2 (relative to their "
         "scale); 1 is zero up to rounding in both frameworks; 1 of 2 torch modules have a "
         "matching JAX value"),
    ],
)  # fmt: skip
def test_the_outputs_of_the_first_draw_that_fails_are_judged(monkeypatch, proof, verdict, text):
    """The sentence has the first failure, and only a pass needs a control."""
    monkeypatch.setattr(forward, "_control", lambda _: "control")
    surface, notes, _ = forward._judged(proof)
    assert (surface.verdict, surface.text) == (verdict, text)
    assert surface.control == ("control" if verdict == "pass" else "")
    assert notes == (("a note",) if verdict == "fail" else ())


@pytest.mark.parametrize(
    ("inputs", "visible", "matches", "text"),
    [
        ((0, 1), {1}, False, "every input of torch's mul also occurs in the JAX program, but its "
         "[2, 3] output does not."),
        ((0, 1), set(), False, "the [2, 3] output of torch's mul does not occur in the JAX"),
        ((0, 2), set(), False, "every input of torch's mul also occurs"),
        ((0, 1), set(), True, "the elements of torch's mul output occur in JAX in another order"),
    ],
)  # fmt: skip
def test_what_occurs_in_jax_is_said(inputs, visible, matches, text):
    """Inputs and repetitions occur in every port."""
    values = [types.SimpleNamespace(op=op) for op in ("input", "tanh", "expand")]
    values.append(types.SimpleNamespace(op="mul", inputs=inputs, shape=(2, 3), unchecked=False,
                                        integers=False))  # fmt: skip
    run: Any = types.SimpleNamespace(values=values)
    alignment: Any = types.SimpleNamespace(
        matches=lambda i: (5,) if matches else (), visible=lambda i: i in visible, shuffled={}
    )
    evidence: Any = types.SimpleNamespace(runs=[run], alignments=[alignment])
    assert forward._found(evidence, 0, 3).startswith(text)
    for name in ("unchecked", "integers"):  # it also reads integers, or a mask made of an input
        values[3].unchecked = values[3].integers = False
        setattr(values[3], name, True)
        said = forward._found(evidence, 0, 3)
        assert said.startswith(text.replace("every input", "every floating input"))


class Written(nn.Module):
    """A value of which one element is overwritten."""

    def __init__(self):
        super().__init__()
        self.x = nn.Parameter(torch.tensor([-1.0, 0.5, 2.0]))

    def forward(self):
        y = self.x.clone()
        y[0] = 0
        return (y**2).sum()


def test_a_value_that_jax_does_not_use_is_observed():
    """`.at[].set()` without an assignment has torch's new value, which the program never uses."""

    def port(p: Any, again: bool = False) -> Any:
        y = p["x"]
        new = y.at[0].set(0)
        return jnp.sum(y**2) + (jnp.sum(new**3) if again else 0)

    first = prove(Written(), port, arrays(Written()), ()).first
    assert first is not None and not first.tested
    assert first.cause.startswith(
        "torch's pow reads the value that JAX computes at test_forward.py:"
    )
    assert first.cause.endswith(" (scatter) and never uses")

    def uses_both(p: Any) -> Any:
        return port(p, again=True)

    first = prove(Written(), uses_both, arrays(Written()), ()).first
    assert first is not None and "never uses" not in first.cause, "the control: the value is used"


def test_values_of_a_loops_condition_are_not_called_unused():
    """The condition of a `while_loop` uses values on which no output depends."""

    def port(p: Any) -> Any:
        y = p["x"]
        new = y.at[0].set(0)
        ((total, _), _) = lax.while_loop(
            lambda state: (state[1] < 1) & (jnp.sum(new) > -9e9),
            lambda state: ((jnp.sum(y**2), state[0][1]), state[1] + 1),
            ((jnp.zeros((), y.dtype), jnp.zeros((), y.dtype)), 0),
        )
        return total

    first = prove(Written(), port, arrays(Written()), ()).first

    assert first is not None and "never uses" not in first.cause


def test_what_an_inner_gradient_differentiates_need_not_be_used():
    """JAX computes the energy beside its gradient, and nothing reads it; that is no observation."""

    class Force(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.tensor([1.5, -0.5, 2.0]))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = (self.scale * x).requires_grad_()
            with torch.enable_grad():
                energy = (x.sin() * x).sum()
            return torch.autograd.grad(energy, x, create_graph=True)[0]

    def port(p: Any, x: Any) -> Any:
        @jax.custom_jvp
        def sine(x: Any) -> Any:
            return jnp.sin(x)

        sine.defjvps(lambda dx, out, x: dx * jnp.cos(x) ** 2)

        return jax.value_and_grad(lambda x: (sine(x) * x).sum())(p["scale"] * x)[1]

    first = prove(Force(), port, arrays(Force()), (draw(4, 3),)).first
    assert first is not None and "never uses" not in first.cause


def test_a_copy_of_params_that_the_port_uses_is_not_called_unused():
    """The port stops the gradient of all params at once, and reads the queue from the params."""

    class Queue(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 2)
            self.register_buffer("queue", torch.randn(2, 4))

        def forward(self, x):
            return self.layer(x) @ self.queue

    def port(p: Any, x: Any) -> Any:
        slow = lax.stop_gradient(p)
        del slow
        return (x @ p["layer.weight"].T + p["layer.bias"]) @ (p["queue"] * 1.5)

    torch.manual_seed(0)
    module = Queue()
    first = prove(module, port, arrays(module), (draw(4, 3),)).first
    assert first is not None and "never uses" not in first.cause


class Divergence(nn.Module):
    """A module that warns once in each of its own runs, and whose port has another reduction."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        warnings.warn("the module's own", stacklevel=1)
        logits = torch.log_softmax(self.linear(x), -1)
        return nn.functional.kl_div(logits, target, reduction="batchmean")


def test_the_warnings_of_reruns_do_not_reach_the_user():
    """torch warns of `reduction="mean"`, which only the search for the cause tries."""
    torch.manual_seed(0)
    module = Divergence()

    def port(p: Any, x: Any, target: Any) -> Any:
        logits = jax.nn.log_softmax(x @ p["linear.weight"].T + p["linear.bias"])
        return (target * (jnp.log(target) - logits)).mean()

    target = np.asarray(jax.nn.softmax(draw(6, 4)))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        report = prove(module, port, arrays(module), (draw(6, 4) + 1, target))
    assert report.first is not None and "reduced by mean" in report.first.cause
    texts = [str(each.message) for each in caught if each.category is UserWarning]
    assert texts == ["the module's own"]
