"""The gradients check finds a stop_gradient on one use of a tied weight."""

from types import SimpleNamespace
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch import Tensor, nn

from jaxgrad.parity import ProofError, prove
from jaxgrad.parity.prove.causes.case import Explanation
from jaxgrad.parity.prove.judge import MAX_ROUNDING, Judged
from jaxgrad.parity.prove.surfaces import gradients
from tests.jaxgrad.parity.prove._helpers import arrays, draw


def test_a_stop_gradient_on_one_use_of_a_weight_is_reported():
    """A stop_gradient on one use of a tied weight is reported as the likely cause."""
    torch.manual_seed(0)

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(6, 3)

        def forward(self, ids: Tensor) -> Tensor:
            return torch.tanh(self.embed(ids)) @ self.embed.weight.T

    module = Tied()

    def apply(p: Any, ids: Any) -> Any:
        embed = p["embed.weight"]
        return jnp.tanh(embed[ids]) @ lax.stop_gradient(embed).T

    first = prove(module, apply, arrays(module), (np.array([[1, 4, 2, 0]]),)).first
    assert first is not None
    assert (first.surface, first.torch) == ("gradients", "embed.weight")
    line = apply.__code__.co_firstlineno + 2
    assert f"an extra stop_gradient at test_gradients.py:{line} (stop_gradient)" in first.cause
    assert first.cause.endswith("(rerunning JAX without it, all gradients agree)")


class Weighted(nn.Module):
    """A layer and a frozen copy of it, both of whose outputs are weighted by an input."""

    def __init__(self):
        super().__init__()
        self.layer, self.frozen = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x: Tensor, weight: Tensor) -> Tensor:
        with torch.no_grad():
            target = self.frozen(x) * weight
        return self.layer(x) * weight - target


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("weight", "verdict"),
    [([[1.0], [0.0], [1.0], [1.0]], "pass"), ([[1.0], [0.5], [2.0], [1.0]], "fail")],
)
def test_the_gradient_of_a_mask_is_not_judged(weight, verdict):
    """A port may stop the frozen weights alone if the other input is a mask of zeros and ones."""
    torch.manual_seed(0)
    module = Weighted()

    def apply(p: Any, x: Any, weight: Any) -> Any:
        x = lax.stop_gradient(x)
        frozen = lax.stop_gradient(p["frozen.weight"]), lax.stop_gradient(p["frozen.bias"])
        first = x @ p["layer.weight"].T + p["layer.bias"]
        return first * weight - (x @ frozen[0].T + frozen[1]) * weight

    module.register_forward_pre_hook(lambda _, args: (args[0].detach(), args[1]))
    report = prove(module, apply, arrays(module), (draw(4, 3), np.array(weight)))
    assert report.verdict == verdict, report
    note = (
        "the gradient of input 1, which holds only zeros and ones, differs; this is not judged, "
        "because a mask is data"
    )
    assert (note in report.notes) == (verdict == "pass")


def test_the_gradient_of_a_mask_is_noted_beside_gradients_that_differ():
    """It is not judged, so it is not counted."""
    torch.manual_seed(0)
    module = Weighted()

    def apply(p: Any, x: Any, weight: Any) -> Any:
        first = lax.stop_gradient(x @ p["layer.weight"].T) + p["layer.bias"]
        target = lax.stop_gradient(x @ p["frozen.weight"].T + p["frozen.bias"]) * weight
        return first * weight - target

    mask = np.array([[1.0], [0.0], [1.0], [1.0]])
    report = prove(module, apply, arrays(module), (draw(4, 3), mask))
    assert report.surfaces["gradients"].text == "1 of 2 gradients differ: input 0"
    assert any(note.startswith("the gradient of input 1, which holds") for note in report.notes)


def test_the_gradient_of_a_mask_is_judged_in_a_module_without_parameters():
    """Where the inputs' gradients are all there is, a missing gradient of a mask fails."""
    module = nn.L1Loss()
    apply = lambda _, x, y: jnp.mean(jnp.abs(lax.stop_gradient(x) - y))  # noqa: E731
    inputs = np.array([1.0, 0.0, 1.0]), np.array([0.3, 0.6, -1.0])
    assert prove(module, apply, {}, inputs).verdict == "fail"


class Looked(nn.Module):
    """An embedding whose output may be detached; its inputs have no gradient."""

    def __init__(self, detaches: bool):
        super().__init__()
        self.embed, self.detaches = nn.Embedding(5, 3), detaches

    def forward(self, ids: Tensor) -> Tensor:
        return self.embed(ids).detach() if self.detaches else self.embed(ids)


def test_agreeing_parameters_beside_a_wrong_input_are_said():
    """A target whose params are stopped trains as torch does; its input has another gradient."""

    class Critic(nn.Module):
        def __init__(self):
            super().__init__()
            self.v = nn.Linear(3, 1)

        def forward(self, x, after):
            return (self.v(x) - self.v(after).detach()).square().mean()

    def port(p: Any, x: Any, after: Any, stop: Any) -> Any:
        def v(p: Any, x: Any) -> Any:
            return x @ p["v.weight"].T + p["v.bias"]

        return jnp.mean((v(p, x) - stop(p, after, v)) ** 2)

    def only_params(p: Any, after: Any, v: Any) -> Any:
        return v(lax.stop_gradient(p), after)

    def nothing(p: Any, after: Any, v: Any) -> Any:
        return v(p, after)

    module, text = Critic(), "; the gradients of all parameters agree"
    for stop, says in ((only_params, True), (nothing, False)):
        inputs = draw(5, 3), draw(6, 3)[1:]
        report = prove(module, lambda p, x, y, s=stop: port(p, x, y, s), arrays(module), inputs)
        assert report.surfaces["gradients"].text.endswith(text) == says


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("torchs", "jaxs", "verdict", "text"),
    [
        (False, True, "fail", "torch computes 1 gradient, but JAX computes none"),
        (True, False, "fail", "JAX computes 1 gradient, but torch computes none"),
        (True, True, "error", "neither torch's output nor JAX's depends on a trained weight"),
    ],
)
def test_a_framework_without_any_gradient_is_named(torchs, jaxs, verdict, text):
    """If one program stops every gradient the report says which; if both do, that both do."""
    module = Looked(torchs)

    def apply(p: Any, ids: Any) -> Any:
        y = p["embed.weight"][ids]
        return lax.stop_gradient(y) if jaxs else y

    report = prove(module, apply, arrays(module), (np.array([0, 1, 4]),))

    assert report.verdict == verdict and text in str(report)
    if verdict == "fail":
        assert report.first is not None and report.first.torch == "embed.weight"


def judged(name: str, verdict: str = "pass", share: float = 0.0, **fields: Any) -> Judged:
    return Judged(name, verdict, share, 0.0, **{"scale": 1.0, "torch": 1.0, **fields})


def judge(*first: Judged, second: Any = (), draw: Any = None) -> Any:
    """Judge gradients whose comparison is known; the gradients themselves are all equal."""
    grads = {j.name: np.ones(2) for j in (*first, *second)}
    proof: Any = SimpleNamespace(
        failed_gradient_draw=draw,
        judged_gradients=[first, second],
        jax_place=lambda name: f"leaf {name}",
        by_torch_name=lambda gradients: grads,
        torch_gradients=lambda run: grads,
        runs=[SimpleNamespace(values=[], grads={}), None],
        jax_gradients=[None, None],
        drawn=[SimpleNamespace(gradient_reruns=[], most_rounding=MAX_ROUNDING)],
        amplified=lambda number: f"; on draw {number}",
        port=SimpleNamespace(program=SimpleNamespace(equations={}), weights=None),
    )
    return gradients.surface(proof)


def test_gradients_that_agree_are_counted():
    """Accepted gradients and masks are not counted, and masks on any draw are noted once."""
    result = judge(
        judged("w", share=2e-13), judged("input 0", share=1e-13), judged("b", "zero"),
        judged("c", "accepted", 9.0), judged("input 1", "mask", 9.0),
        second=[judged("input 1", "mask"), judged("input 2", "mask")],
    )  # fmt: skip
    assert result.surface.verdict == "pass"
    assert result.surface.text == (
        "3 gradients (1 of inputs) agree within 2e-13 (relative to their scale); 1 is zero up to "
        "rounding in both frameworks"
    )
    assert len(result.surface.rows) == 5
    assert result.surface.control == (
        "an error of 1e-09 injected into the gradient of w was detected"
    )
    (note,) = result.notes
    assert note.startswith("the gradient of input 1, input 2, which holds only zeros and ones")
    plain = judge(judged("w"))
    assert plain.surface.text == "1 gradient is bit-identical"
    assert plain.notes == ()


def test_gradients_that_are_all_zero_prove_nothing():
    """A zero at the worst element is no zero gradient."""
    for zeros in ([judged("w", "zero")], [judged("w", scale=0.0, torch=0.0), judged("v", "zero")]):
        with pytest.raises(ProofError, match="all gradients are zero in torch"):
            judge(*zeros)
    assert judge(judged("w", torch=0.0)).surface.verdict == "pass"
    assert judge(judged("w", scale=0.0)).surface.verdict == "pass"  # NaN in both


@pytest.mark.parametrize("draw", [0, 1])
def test_gradients_that_differ_are_counted_on_their_draw(draw):
    """The draw on which they differ is said if it is not the given one."""
    wrong = [judged("v"), judged("w", "fail", 0.25), judged("u", "inconclusive")]
    result = judge(*(wrong if draw == 0 else [judged("v")]), second=wrong, draw=draw)
    (finding,) = result.surface.findings

    elsewhere = ", but only with redrawn weights and inputs" if draw else ""
    assert result.surface.text == f"1 of 3 gradients differ: w{elsewhere}"
    assert (finding.torch, finding.jax) == ("w", "leaf w")
    assert finding.text == "the gradient is off by 0.25 (relative to its scale)"


def test_a_gradient_that_rounding_changes_is_inconclusive():
    """A gradient that rounding changes is named, and the number of others is not stated."""
    result = judge(judged("v"), judged("w", "inconclusive"))
    assert result.surface.verdict == "inconclusive"
    second = judge(judged("v"), second=[judged("v", "inconclusive")])
    assert second.surface.verdict == "inconclusive"
    assert "too much to compare with redrawn weights and inputs (by up to" in second.surface.text
    assert second.surface.text.endswith("; on draw 1)")
    doubt = judged("w", "inconclusive").doubt
    assert result.surface.text == (
        f"w: rounding alone changes its gradient too much to compare ({doubt}; on draw 0)"
    )


@pytest.mark.parametrize(
    ("fixed", "name", "where", "cause"),
    [(None, "v", "leaf v", ""), ("u", "u", "leaf u", "why"), ("x", "v", "leaf v", "")],
)
def test_the_wrong_gradient_that_a_cause_explains_is_named(monkeypatch, fixed, name, where, cause):
    """Without a cause it is the one whose weight is used last, and of several the most wrong."""
    monkeypatch.setattr(gradients.quotes, "explained", lambda _, finding, __: finding)
    uses = [("u",), ("w", "v"), ()]
    grads = dict.fromkeys("uvw", np.arange(2.0))
    proof: Any = SimpleNamespace(
        runs=[SimpleNamespace(values=[SimpleNamespace(weights=names) for names in uses])],
        jax_place=lambda name: f"leaf {name}",
        by_torch_name=lambda _: {**grads, "v": np.array([1.0, 0.0])},
        torch_gradients=lambda _: grads,
        jax_gradients=[None],
        port=SimpleNamespace(program=SimpleNamespace(equations={})),
    )
    wrong = [
        judged(name, "fail", share) for name, share in zip("wuv", (0.1, 0.9, 0.2), strict=True)
    ]
    why = None if fixed is None else Explanation("why", frozenset(fixed), True)
    finding = gradients._finding(proof, 0, wrong, why)

    assert (finding.torch, finding.jax, finding.cause) == (name, where, cause)
    inputs = [judged("input 0", "fail"), judged("input 1", "fail", 0.5)]
    assert gradients._last_used(proof, inputs) is inputs[0]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [("wv", "w, v"), ("wvu", "w, v, u"), ("wvux", "w, v, u and 1 more")],
)
def test_at_most_three_gradients_are_listed(wrong, text):
    assert gradients._listed(list(wrong)) == text


@pytest.mark.parametrize(
    ("rerun", "verdict", "scale", "control"),
    [
        (None, "pass", 1.0, True),
        (1 + 1e-15, "pass", 1.0, True),
        (1 + 1e-9, "pass", 1.0, True),
        (1 + 1e-4, "pass", 1.0, False),
        (None, "zero", 1.0, False),
        (None, "pass", 0.0, False),
    ],
)
def test_the_control_needs_a_gradient_that_is_compared_sharply(rerun, verdict, scale, control):
    """A rerun may change the gradient by more than any injected error, or have no gradient."""
    near = [{"w": None if rerun is None else rerun * np.ones(2)}]
    ones = {"w": np.ones(2)}
    proof: Any = SimpleNamespace(
        judged_gradients=[[judged("w", verdict, scale=scale)]],
        by_torch_name=lambda _: ones,
        jax_gradients=[None],
        torch_gradients=lambda run: run,
        runs=[ones],
        drawn=[SimpleNamespace(gradient_reruns=near, most_rounding=MAX_ROUNDING)],
    )
    text = gradients._control(proof)
    assert bool(text) == control
    assert not text or f"an error of {'1e-07' if rerun == 1 + 1e-9 else '1e-09'} injected" in text
