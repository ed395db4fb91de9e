"""The precision surface fails if one program alone rounds a value below float32."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import optax
import pytest
import torch
from flax import linen
from torch import Tensor, nn

from jaxgrad.parity import Report, dump, prove
from jaxgrad.parity.prove.dtypes import rounded_outputs
from jaxgrad.precision.autocast import autocast
from tests.jaxgrad.parity.prove._helpers import arrays, draw


INPUTS = (draw(5, 4),)
BF16, F16, F32 = jnp.bfloat16, jnp.float16, jnp.float32


class Net(nn.Module):
    """A model whose forward pass may run under autocast."""

    def __init__(self, autocasts: bool = False):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(4, 8), nn.LayerNorm(8), nn.Linear(8, 3)
        self.autocasts = autocasts

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.autocasts):
            return self.last(nn.functional.gelu(self.norm(self.first(x)), approximate="tanh"))


class Port(linen.Module):
    """A port whose layers have the given dtypes."""

    first: Any = None
    norm: Any = None
    last: Any = None

    @linen.compact
    def __call__(self, x: Any) -> Any:
        x = linen.Dense(8, dtype=self.first, name="first")(x)
        x = linen.LayerNorm(epsilon=1e-5, dtype=self.norm, name="norm")(x)
        return linen.Dense(3, dtype=self.last, name="last")(jax.nn.gelu(x))


def params(module: nn.Module, dtype: Any = F32) -> dict[str, Any]:
    state = {name: jnp.asarray(x.detach().float().numpy(), dtype)
             for name, x in module.state_dict().items()}  # fmt: skip
    tree = {
        name: {"kernel": state[f"{name}.weight"].T, "bias": state[f"{name}.bias"]}
        for name in ("first", "last")
    }
    return {"params": tree | {"norm": {"scale": state["norm.weight"], "bias": state["norm.bias"]}}}


def report(port: Any, *, autocasts: bool = False, dtype: Any = F32, **options: Any) -> Report:
    torch.manual_seed(0)
    module = Net(autocasts)
    if dtype == BF16:
        module.bfloat16()
    return prove(module, port, params(module, dtype), INPUTS, **options)


def test_two_float32_programs_have_nothing_to_report():
    """JAX's float32 default agrees with torch's."""
    surface = report(Port()).check().surfaces["precision"]

    assert surface.text == "neither program rounds a value below float32"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("dtypes", "place"),
    [((BF16, None, None), "first"), ((None, None, F16), "last"), ((BF16,) * 3, "first")],
)
def test_a_layer_that_jax_alone_rounds_fails(dtypes, place):
    """A port that computes a layer below float32 fails at this layer, with both places."""
    proof = report(Port(*dtypes))

    first = proof.first
    assert first is not None and proof.verdict == "fail"
    assert (first.surface, first.where) == ("precision", f"{place} (linear)")
    assert first.jax.startswith("test_precision.py")
    low = "float16" if dtypes[2] == F16 else "bfloat16"
    assert first.text == (
        f"JAX rounds the weight {place}.weight to {low}, and torch keeps it in float32"
    )
    assert not any("loses digits" in note for note in proof.notes)


def test_autocast_agrees_with_equal_casts_in_jax():
    """torch's autocast agrees with flax's dtype= and with jaxgrad's autocast."""
    surface = report(Port(BF16, BF16, BF16), autocasts=True).check().surfaces["precision"]
    assert "both programs round the same" in surface.text
    assert "a cast to float16 injected at" in surface.control

    report(autocast(Port().apply), autocasts=True).check()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("port", "who", "place"),
    [
        (Port(), "torch rounds", "first"),
        (Port(BF16, BF16, None), "torch rounds", "last"),
        (Port(None, BF16, BF16), "torch rounds", "first"),
        (Port(BF16, BF16, F16), "JAX rounds", "last"),
    ],
    ids=["float32", "last layer in float32", "first layer in float32", "float16"],
)
def test_autocast_that_the_port_lacks_fails(port, who, place):
    """A port that lacks a cast of torch's autocast, or has another dtype, fails there."""
    first = report(port, autocasts=True).first

    assert first is not None
    assert (first.surface, first.torch) == ("precision", place)
    assert first.text.startswith(who)


def test_a_bfloat16_module_agrees_with_bfloat16_params():
    """A module and params in bfloat16 agree; a layer that JAX computes in float32 fails."""
    report(Port(), dtype=BF16).check()
    first = report(Port(last=F32), dtype=BF16).first
    assert first is not None and first.text.startswith("torch rounds the result of torch's linear")


def test_params_in_float32_for_a_bfloat16_module_get_a_note():
    """numpy has no bfloat16, so params in float32 are not an error."""
    torch.manual_seed(0)
    module = Net().bfloat16()
    proof = prove(module, Port(), params(module), INPUTS).check()

    assert "torch's parameters are stored in bfloat16, the port's params in float32" in proof.notes


def test_a_dump_holds_the_dtypes(tmp_path):
    """A dump compares the same casts as the module itself."""
    torch.manual_seed(0)
    module = Net(autocasts=True)
    path = tmp_path / "net.npz"
    dump(module, INPUTS, path)

    prove(path, Port(BF16, BF16, BF16), params(module)).check()
    first = prove(path, Port(BF16, None, BF16), params(module)).first
    assert first is not None and first.surface == "precision"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("low", [False, True])
def test_an_optimizer_state_in_bfloat16_fails(low):
    """A first moment in bfloat16 fails where torch stores it in float32."""
    tx = optax.adam(1e-3, mu_dtype=BF16 if low else None)
    proof = report(Port(), optimizer=(lambda p: torch.optim.Adam(p, 1e-3), tx))
    surface = proof.surfaces["precision"]

    assert surface.verdict == ("fail" if low else "pass")
    if low:
        assert "optax stores its state in bfloat16" in surface.text
        assert "mu" in surface.findings[0].jax


class Attention(nn.Module):
    """A norm in float32 and one attention head, as in a language model in bfloat16."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(1 + 0.1 * torch.randn(8))
        self.q, self.k, self.o = (nn.Linear(8, 8, bias=False) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        h = x.float()
        h = (h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * self.scale
        scores = self.q(h) @ self.k(h).mT * 8**-0.5
        return self.o(nn.functional.softmax(scores, -1, dtype=torch.float32).to(x.dtype) @ h)


def attention(
    p: Any, x: Any, *, norm: Any = F32, late: bool = False, scores: Any = None, softmax: Any = F32
) -> Any:
    low = p["scale"].dtype
    h = x.astype(norm)
    h = h * jax.lax.rsqrt(jnp.mean(h**2, -1, keepdims=True) + 1e-6)
    h = (h * p["scale"].astype(norm)).astype(low) if late else h.astype(low) * p["scale"]
    q, k = h @ p["q.weight"].T, h @ p["k.weight"].T
    logits = jnp.einsum("qd,kd->qk", q, k, preferred_element_type=scores) * 8**-0.5
    return jax.nn.softmax(logits.astype(softmax), -1).astype(low) @ h @ p["o.weight"].T


@functools.cache
def language_model() -> tuple[nn.Module, Any, Any]:
    torch.manual_seed(0)
    module = Attention().bfloat16()
    state = {name: jnp.asarray(x, BF16) for name, x in arrays(module.float()).items()}
    return module.bfloat16(), state, (draw(5, 8),)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("options", [{}, {"late": True}, {"scores": F32}])
def test_more_precise_ports_of_a_bfloat16_model_pass(options):
    """A port may keep a sum or a product in float32 within a module; a note says so."""
    module, state, inputs = language_model()
    proof = prove(module, functools.partial(attention, **options), state, inputs).check()

    assert any("JAX is more precise" in note for note in proof.notes) == bool(options)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"norm": BF16}, "JAX rounds the result of torch's pow to bfloat16"),
        ({"softmax": BF16}, "JAX computes the result of torch's softmax from numbers that it "),
    ],
)
def test_a_missing_upcast_fails(options, text):
    """A norm or a softmax that torch computes in float32 fails in bfloat16."""
    module, state, inputs = language_model()
    first = prove(module, functools.partial(attention, **options), state, inputs).first

    assert first is not None and first.surface == "precision"
    assert first.text.startswith(text)


def test_a_cast_to_float32_in_a_float64_proof_gets_a_note():
    """A module in float64 and a port that computes in float32 pass with a note."""
    layer = nn.Linear(4, 2).double()

    def port(p: Any, x: Any) -> Any:
        return x.astype(F32) @ p["weight"].astype(F32).T + p["bias"]

    proof = prove(layer, port, arrays(layer), INPUTS).check()
    assert "the module computes in float64, and the port in float32 at test_precision" in str(proof)


def test_a_value_that_torch_does_not_compute_fails_if_torch_rounds_nothing():
    """A cast inside attention is found although torch's fused attention has no such value."""

    class Fused(nn.Linear):
        def forward(self, input: Tensor) -> Tensor:
            x = super().forward(input)[:, None]
            return nn.functional.scaled_dot_product_attention(x, x, x)

    def port(p: Any, x: Any, low: Any = BF16) -> Any:
        x = (x @ p["weight"].T + p["bias"])[:, None]
        weights = jax.nn.softmax(x @ x.swapaxes(-1, -2) * 4**-0.5, -1)
        return weights.astype(low).astype(x.dtype) @ x

    x = (draw(2, 5, 4),)
    module = Fused(4, 4)
    first = prove(module, port, arrays(module), x).first
    assert first is not None and first.surface == "precision"
    assert first.text == "JAX rounds a value to bfloat16, and torch rounds none below float32"
    assert first.torch == "(root)" and "test_precision.py" in first.jax
    prove(module, functools.partial(port, low=F32), arrays(module), x).check()


class Scaled(nn.Module):
    """An RMS norm that computes in float32 and rounds its result alone, as Gemma's."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(0.3 * torch.randn(12))

    def forward(self, x: Tensor) -> Tensor:
        h = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)
        return (h * (1.0 + self.weight.float())).type_as(x)


def scaled(p: Any, x: Any, *, early: bool) -> Any:
    wide = x.astype(F32)
    h = wide * jax.lax.rsqrt(jnp.mean(wide**2, -1, keepdims=True) + 1e-6)
    if early:  # as Llama's
        return h.astype(x.dtype) * (1.0 + p["weight"])
    return (h * (1.0 + p["weight"].astype(F32))).astype(x.dtype)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_value_that_is_rounded_one_operation_too_early_fails(seed):
    """torch rounds the product, and JAX both factors: their outputs differ in bfloat16."""
    torch.manual_seed(seed)
    module = Scaled().bfloat16()
    weights = {"weight": jnp.asarray(module.weight.detach().float().numpy(), BF16)}
    x = (draw(8, 12),)
    right = prove(module, functools.partial(scaled, early=False), weights, x, seed=seed)
    wrong = prove(module, functools.partial(scaled, early=True), weights, x, seed=seed)

    assert right.surfaces["precision"].verdict == "pass", right
    assert right.surfaces["precision"].text.endswith("in their own dtypes, their outputs agree")
    surface = wrong.surfaces["precision"]
    texts = [finding.text for finding in surface.findings]
    assert surface.verdict == "fail" and surface.text == "only JAX rounds 2 values below float32"
    assert [text.split(" to ")[0] for text in sorted(texts)] == [
        "JAX rounds the result of torch's add",
        "JAX rounds the result of torch's mul",
    ]


def test_a_value_inside_of_a_call_is_no_result_of_it():
    """The log-softmax inside a cross-entropy is rounded, and not the loss."""

    class Loss(nn.Module):
        def __init__(self):
            super().__init__()
            self.head = nn.Linear(3, 4)

        def forward(self, x, y):
            return nn.functional.cross_entropy(self.head(x), y)

    def port(p: Any, x: Any, y: Any) -> Any:
        logits = x @ p["head.weight"].T + p["head.bias"]
        logs = jax.nn.log_softmax(logits.astype(BF16), -1).astype(logits.dtype)
        return -jnp.take_along_axis(logs, y[:, None], 1).mean()

    torch.manual_seed(0)
    module = Loss()
    x = (draw(4, 3).astype(F32), jnp.arange(4))
    texts = [f.text for f in prove(module, port, arrays(module), x).surfaces["precision"].findings]
    assert (
        "JAX rounds a value inside torch's cross_entropy to bfloat16, and torch keeps it in "
        in ("".join(texts))
    )
    assert "the result of torch's cross_entropy" not in "".join(texts)


class Dropping(nn.Module):
    """A softmax in float32 of bfloat16 scores, after a dropout."""

    def __init__(self):
        super().__init__()
        self.q, self.k, self.drop = nn.Linear(4, 4), nn.Linear(4, 4), nn.Dropout(0.25)

    def forward(self, x: Tensor) -> Tensor:
        x = self.drop(x)
        scores = (self.q(x).bfloat16() @ self.k(x).bfloat16().mT).float() / 2
        return (scores.softmax(-1).bfloat16() @ x.bfloat16()).to(x.dtype)


def dropping(p: Any, x: Any, *, softmax: Any) -> Any:
    x = jnp.where(jax.random.bernoulli(jax.random.key(0), 0.75, x.shape), x / 0.75, 0)
    q, k = (x @ p[f"{name}.weight"].T + p[f"{name}.bias"] for name in "qk")
    scores = q.astype(BF16) @ k.astype(BF16).swapaxes(-1, -2)
    weights = jax.nn.softmax(scores.astype(softmax) / 2)
    return (weights.astype(BF16) @ x.astype(BF16)).astype(x.dtype)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_roundings_are_compared_while_a_dropout_is_active(seed):
    """Both programs draw the same numbers in their own dtypes, so that their values match."""
    torch.manual_seed(seed)
    module, x = Dropping().train(), (draw(2, 5, 4),)
    right, wrong = (
        prove(module, functools.partial(dropping, softmax=d), arrays(module), x, seed=seed)
        for d in (F32, BF16)
    )

    assert right.surfaces["precision"].verdict == "pass", right
    assert "their outputs agree" in right.surfaces["precision"].text
    assert wrong.surfaces["precision"].verdict == "fail", wrong
    assert wrong.first is not None
    assert wrong.first.text.startswith("JAX computes the result of torch's softmax from numbers")


def test_a_rounding_without_a_match_is_not_judged():
    """JAX rounds a product before it adds the bias; torch's linear rounds the sum alone."""

    def port(p: Any, x: Any) -> Any:
        y = x @ p["weight"].T
        return y + p["bias"]

    layer = nn.Linear(4, 3).bfloat16()
    weights = {name: jnp.asarray(x.detach().float().numpy(), BF16)
               for name, x in layer.named_parameters()}  # fmt: skip
    surface = prove(layer, port, weights, INPUTS).check().surfaces["precision"]

    assert surface.verdict == "not judged"
    line = port.__code__.co_firstlineno + 1
    assert f"JAX also rounds 1 value without a match in torch, at test_precision.py:{line}" in (
        surface.text
    )
    assert "before torch's linear; in their own dtypes, " in surface.text
    assert "of 15 elements of the output differ" in surface.text


def test_outputs_that_differ_in_their_own_dtypes_do_not_pass(monkeypatch):
    """Matching values alone do not show that both programs round alike."""
    differences = {
        rounded_outputs.Difference("y", 0.9, 44, 96): "another rounding was not found: in their",
        "torch is gone": "this was not confirmed by a run: torch is gone",
    }
    module, state, inputs = language_model()
    for difference, text in differences.items():
        monkeypatch.setattr(rounded_outputs, "largest", lambda *_, x=difference: x)
        surface = prove(module, attention, state, inputs).surfaces["precision"]
        assert surface.verdict == "not judged"
        assert f"both programs round the same 14 values below float32, but {text}" in surface.text
