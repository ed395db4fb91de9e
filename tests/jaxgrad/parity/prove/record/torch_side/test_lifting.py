"""Tables that each framework rounds to float32 differently do not hide a decoder's bugs."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import linen
from jax import lax
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.record import coarse
from jaxgrad.parity.prove.record.torch_side import run as torch_run
from jaxgrad.parity.prove.record.torch_side.lifting import Lifting
from jaxgrad.parity.prove.record.torch_side.randomness import Randomness
from parity_tests.case import identity
from tests.jaxgrad.parity.prove._helpers import arrays


class Rotary(nn.Module):
    inv_freq: Tensor

    def __init__(self, size: int):
        super().__init__()
        steps = torch.arange(0, size, 2, dtype=torch.float32) / size
        self.register_buffer("inv_freq", 1.0 / 10000.0**steps, persistent=False)

    def forward(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        angles = positions[:, :, None].float() * self.inv_freq
        angles = torch.cat((angles, angles), -1)
        return angles.cos(), angles.sin()


class Decoder(nn.Module):
    """A decoder with one head and one layer, whose submodules are named as in a real model."""

    def __init__(self, size: int = 8):
        super().__init__()
        self.embed_tokens = nn.Embedding(11, size)
        self.rotary_emb = Rotary(size)
        self.q_proj = nn.Linear(size, size, bias=False)
        self.k_proj = nn.Linear(size, size, bias=False)
        self.act_fn = nn.GELU()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Any:
        x = self.embed_tokens(input_ids)
        cos, sin = self.rotary_emb(torch.arange(x.shape[1])[None])

        def rotated(y: Tensor) -> Tensor:
            left, right = y.chunk(2, -1)
            return y * cos + torch.cat((-right, left), -1) * sin

        q, k = rotated(self.q_proj(x)), rotated(self.k_proj(x))
        low = torch.finfo(x.dtype).min
        bias = (1 - attention_mask[:, None, :].to(x.dtype)) * low
        weights = ((q @ k.mT) / 8**0.5 + bias).softmax(-1)
        x = x + self.act_fn(weights @ x)
        return {"logits": x @ self.embed_tokens.weight.T}


def halves(x: Any) -> Any:
    return jnp.concatenate([-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]], -1)


def negated(x: Any) -> Any:
    """Rotate the two halves with a bug: negate the wrong one."""
    return -halves(x)


class LinenDecoder(linen.Module):
    """A port that computes in float32 whatever its inputs are."""

    rotate: Callable[[Any], Any] = halves
    gelu: Callable[[Any], Any] = lambda x: jax.nn.gelu(x, approximate=False)
    stop: Callable[[Any], Any] = identity

    @linen.compact
    def __call__(self, input_ids: Any, attention_mask: Any) -> Any:
        embed = linen.Embed(11, 8, dtype=jnp.float32, name="embed_tokens")
        x = embed(input_ids)
        inv_freq = 1.0 / (10000 ** (np.arange(0, 8, 2) / 8))
        angles = np.einsum("i,j->ij", np.arange(x.shape[1]), inv_freq).astype("float32")
        table = jnp.asarray(np.concatenate([angles, angles], -1))[None].repeat(2, 0)
        cos, sin = jnp.cos(table), jnp.sin(table)
        q = linen.Dense(8, use_bias=False, dtype=jnp.float32, name="q_proj")(x)
        k = linen.Dense(8, use_bias=False, dtype=jnp.float32, name="k_proj")(self.stop(x))
        q, k = (y * cos + self.rotate(y) * sin for y in (q, k))
        bias = jnp.where(attention_mask[:, None, :] > 0, 0.0, jnp.finfo(jnp.float32).min)
        weights = jax.nn.softmax(q @ k.swapaxes(1, 2) / jnp.sqrt(8).astype(jnp.float32) + bias)
        x = x + self.gelu(weights @ x)
        return {"logits": embed.attend(x)}


def decoder(**changes: Any) -> Report:
    torch.manual_seed(0)
    module = Decoder()
    state = arrays(module)
    params = {
        "embed_tokens": {"embedding": state["embed_tokens.weight"]},
        "q_proj": {"kernel": state["q_proj.weight"].T},
        "k_proj": {"kernel": state["k_proj.weight"].T},
        # A converter stores the tied weight twice, and the port ignores this copy.
        "lm_head": {"kernel": state["embed_tokens.weight"].T},
    }
    mask = np.ones((2, 5), np.int64)
    mask[1, 3:] = 0
    inputs = {"input_ids": np.arange(10).reshape(2, 5), "attention_mask": mask}
    return prove(module, LinenDecoder(**changes), {"params": params}, inputs)


@pytest.mark.slow
def test_a_float32_port_with_an_unused_tied_copy_passes():
    """A port that computes in float32 and stores a tied weight twice passes."""
    decoder().check()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("changes", "surface", "where"),
    [
        ({"rotate": negated}, "forward", "(root)"),
        ({"gelu": jax.nn.gelu}, "forward", "act_fn"),
        ({"stop": lax.stop_gradient}, "backward", "k_proj"),
    ],
)
def test_a_bug_is_located_despite_a_rounded_table(changes: Any, surface: str, where: str):
    """A bug is located in its module although a rotary table differs by rounding."""
    first = decoder(**changes).first
    assert first is not None
    assert (first.surface, first.torch) == (surface, where)
    assert "test_lifting.py" in first.jax


@pytest.mark.sampled(3)
@pytest.mark.parametrize("inplace", [False, True])
@pytest.mark.parametrize("slope", [6.0, 6.00001])
def test_a_hardsigmoid_has_its_exact_gradient(inplace, slope):
    """torch's float64 kernel has a float32 1/6; a port passes, and a wrong slope is found."""
    module = nn.Sequential(nn.Linear(3, 4), nn.Hardsigmoid(inplace))

    def port(p: Any, x: Any) -> Any:
        return jnp.clip(x @ p["0.weight"].T + p["0.bias"] + 3, 0, 6) / slope

    report = prove(module, port, arrays(module), (np.linspace(-2, 2, 15).reshape(5, 3),))
    assert report.verdict == ("pass" if slope == 6 else "fail"), report


@pytest.mark.parametrize("ranks", [(2, 3), (3, 3), (2, 2), (3, 2)])
@pytest.mark.parametrize("last", [4, 8])
def test_a_grouped_product_is_lifted(ranks, last):
    """torch's kernel has no float64; in float64 it is computed group by group."""
    left, right = ranks
    torch.manual_seed(0)
    a = torch.randn((8, 8) if left == 2 else (3, 8, 8))
    b = torch.randn((8, 8) if right == 2 else (3, 8, 8))
    offs = None if left == right == 3 else torch.tensor([4, 4, last], dtype=torch.int32)
    expected = nn.functional.grouped_mm(a, b, offs=offs)
    _, found = lifted(lambda: nn.functional.grouped_mm(a.double(), b.double(), offs=offs))
    assert found.dtype == torch.float64
    if ranks == (2, 3):  # where no group has a row, torch's memory is uninitialized
        assert not found[last:].any()
        expected, found = expected[:last], found[:last]
    if ranks == (3, 2):
        assert not found[:, last:].any()
        expected, found = expected[:, :last], found[:, :last]
    torch.testing.assert_close(found.float(), expected)


def lifted(call: Callable[..., Any], dtype: torch.dtype = torch.float64, **options: Any) -> Any:
    """Run a call that is intercepted; return the record and the result."""
    with Lifting(None, dtype, options.pop("rough", None), **options) as record:
        out = call()
    return record, out


X = torch.linspace(-1.0, 1.0, 4, dtype=torch.float64)
TABLE = torch.sin(torch.arange(4.0))


@pytest.mark.parametrize(
    ("call", "casts", "low"),
    [
        (X.float, ["float to float"], False),
        (X.half, ["half to half"], True),
        (lambda: X.to(torch.float32), ["to to torch.float32"], False),
        (lambda: X.to(dtype=torch.bfloat16), ["to to torch.bfloat16"], True),
        (lambda: torch.ones(4, dtype=torch.float32), ["ones to torch.float32"], False),
        (lambda: X.double() + X.to(torch.float64), [], False),
        (lambda: X.bfloat16() * X.float(), ["bfloat16 to bfloat16", "float to float"], True),
    ],
    ids=range(7),
)
def test_casts_of_the_module_are_lifted_and_listed(call, casts, low):
    """The result has float64 numbers, and casts below float32 are noted."""
    record, out = lifted(call)
    assert out.dtype == torch.float64
    assert record.casts == [f"the module ({cast})" for cast in casts]
    assert record.low is low


def test_casts_are_kept_in_another_dtype():
    """A run in the user's dtypes computes as the module does."""
    record, out = lifted(X.half, torch.float32)
    assert out.dtype == torch.float16 and record.casts == [] and record.low
    record, out = lifted(lambda: TABLE + 1, torch.float32)
    assert out.dtype == torch.float32 and not record.wide and not record.low


def test_autocast_counts_as_low():
    """The record says that the module computes below float32."""

    def call() -> Tensor:
        with torch.autocast("cpu"):
            return X + 1

    assert lifted(call)[0].low and not lifted(lambda: X + 1)[0].low


def test_the_numbers_of_calls_and_questions_for_a_dtype_are_recorded():
    """Numbers are floats, by place or by name; asking for a shape is no question."""
    relu = nn.functional.leaky_relu
    record, _ = lifted(lambda: relu(relu(X, 0.25), negative_slope=0.5).sum(0) * 3)
    assert record.numbers == {0.25, 0.5} and not record.reads_dtype
    assert lifted(lambda: X.dtype)[0].reads_dtype
    assert not lifted(lambda: X.shape)[0].reads_dtype


def test_constants_are_widened_once():
    """A float32 table takes part with its own numbers, also inside a list."""
    record, out = lifted(lambda: torch.cat([TABLE, X, TABLE]) + 0 * TABLE.sum())
    assert out.dtype == torch.float64 and len(record.wide) == 1 and not record.low
    assert torch.equal(out[:4], TABLE.double())
    assert lifted(lambda: X + TABLE.half())[0].low
    low = TABLE.half()
    assert lifted(lambda: X + low)[0].low
    ids = torch.arange(4)
    assert lifted(lambda: X + ids)[0].wide == {}


def test_constants_are_perturbed_in_a_rerun():
    """Each seed gives other numbers, which are off by float32 rounding."""
    first, again, other = (lifted(lambda: X + TABLE, rough=seed)[1] for seed in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, other)
    off = (first - X - TABLE.double()).abs()
    assert 0 < off.max() < 2e-7


def test_a_hardsigmoid_may_be_in_place():
    """The operand is changed, and returned."""
    x = X.clone()
    _, out = lifted(lambda: nn.functional.hardsigmoid(x, inplace=True))
    assert out is x and torch.allclose(x, (X + 3) / 6, rtol=1e-15)
    _, out = lifted(lambda: nn.functional.hardsigmoid(6 * X))
    assert out.tolist() == [0.0, (-2.0 + 3) / 6, (2.0 + 3) / 6, 1.0]


def test_random_numbers_have_the_place_of_their_call():
    """Outside of all modules there is only the function's name."""
    draws = Randomness()
    with draws:
        lifted(lambda: nn.functional.dropout(X, 0.5), randomness=draws)
    assert [(noise.where, noise.call) for noise in draws.noise] == [("(dropout)", -1)]


def test_random_numbers_have_the_place_and_number_of_their_call():
    """The module's path comes before the function's name."""
    module = nn.Sequential(nn.Tanh(), nn.Dropout(0.5))
    (noise,) = torch_run.run(module, (np.ones(4),), noise=()).noise
    assert (noise.where, noise.call) == ("1 (dropout)", 4)


class Encoder(nn.Module):
    """A module that asks for the gradient of a view of its input, as Wav2Vec2 does to train."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        rows = x[:, None]
        rows.requires_grad = True
        return self.linear(rows)


def test_a_value_with_a_gradient_may_be_told_to_have_one():
    """torch rejects the flag for a view of an input that has a gradient, as it has in a proof."""

    def fn(p: Any, x: Any) -> Any:
        return x[:, None] @ p["linear.weight"].T + p["linear.bias"]

    module = Encoder()
    report = prove(module, fn, arrays(module), (np.ones((2, 3), np.float32),))

    assert report.verdict == "pass", str(report)


class Spectral(nn.Module):
    """It keeps a few frequencies, in an array that is complex64 in every dtype of the module."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3, dtype=torch.cfloat))

    def forward(self, x: Tensor) -> Tensor:
        found = torch.fft.rfft(x)
        kept = torch.zeros(found.shape, dtype=torch.cfloat)
        kept[:, :3] = found[:, :3] * self.weight
        one: Any = torch.ones(1)
        return torch.fft.irfft(kept, n=x.shape[-1]) * one.cfloat().real


@pytest.mark.sampled(2)
@pytest.mark.parametrize("scale", [1.0, 1 + 1e-6])
def test_complex64_is_lifted_on_both_sides(scale: float) -> None:
    """An error that complex64 would hide is found."""

    def fn(params: Any, x: Any) -> Any:
        found = jnp.fft.rfft(x)
        kept = jnp.zeros(found.shape, jnp.complex64)
        kept = kept.at[:, :3].set(found[:, :3] * params["weight"] * scale)
        return jnp.fft.irfft(kept, n=x.shape[-1])

    torch.manual_seed(0)
    module = Spectral()
    params = {"weight": module.weight.detach().numpy()}
    x = np.random.default_rng(0).standard_normal((2, 8)).astype(np.float32)
    report = prove(module, fn, params, inputs=(x,))
    assert report.verdict == ("pass" if scale == 1 else "fail"), report


class Norm32(nn.GroupNorm):
    """It computes in float32, as norms of diffusion models do."""

    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input.float()).type(input.dtype)


class Checkpointed(nn.Module):
    def __init__(self, reentrant: bool):
        super().__init__()
        self.first, self.norm, self.reentrant = nn.Linear(4, 4), Norm32(2, 4), reentrant

    def forward(self, x: Tensor) -> Any:
        return checkpoint(self.norm, self.first(x), use_reentrant=self.reentrant)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("reentrant", [True, False])
def test_casts_are_lifted_in_what_a_checkpoint_computes_again(reentrant: bool) -> None:
    def fn(params: Any, x: Any) -> Any:
        h = (x @ params["first"]["weight"].T + params["first"]["bias"]).reshape(-1, 2, 2)
        h = (h - h.mean(-1, keepdims=True)) / jnp.sqrt(h.var(-1, keepdims=True) + 1e-5)
        return h.reshape(-1, 4) * params["norm"]["weight"] + params["norm"]["bias"]

    torch.manual_seed(0)
    module = Checkpointed(reentrant)
    params = {name: arrays(getattr(module, name)) for name in ("first", "norm")}
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    report = prove(module, fn, params, inputs=(x,))
    assert report.verdict == "pass", report


def rounded(call: Callable[..., Any], **options: Any) -> Any:
    return lifted(call, rounds=0, **options)[1]


THIRDS = torch.arange(1.0, 9.0, dtype=torch.float64) / 3


def test_the_result_of_a_call_is_rounded_to_one_bit_less():
    """So are a result in place, each of several results, complex ones and a Python number."""
    exact = THIRDS * THIRDS
    near = coarse.nearest(exact.numpy())
    assert (near != exact.numpy()).any()
    np.testing.assert_array_equal(rounded(lambda: THIRDS * THIRDS), near)
    x = THIRDS.clone()
    assert rounded(lambda: x.mul_(THIRDS)) is x and np.array_equal(x, near)
    x = THIRDS.clone()
    rounded(lambda: x.__imul__(THIRDS))
    np.testing.assert_array_equal(x, near)
    values, order = rounded(lambda: torch.sort(-exact))
    assert np.array_equal(np.sort(-near), values) and order.tolist() == list(range(7, -1, -1))
    out = rounded(lambda: torch.complex(exact, -exact))
    assert np.array_equal(out.real, near) and np.array_equal(out.imag, -near)
    out = rounded(lambda: torch.full_like(THIRDS, 0.3))
    assert out[0] == coarse.number(0.3) != 0.3


def test_views_operands_and_constants_are_not_rounded():
    """A view must share memory, and `from_numpy` may return the user's own array."""
    x, array = THIRDS.clone(), THIRDS.numpy().copy()
    for call in (
        lambda: x[1:], lambda: x.view(4, 2).mT, lambda: x.reshape(2, 4), x.contiguous,
        x.detach, lambda: x.data, lambda: x.requires_grad_(False),
        lambda: torch.from_numpy(array), lambda: x.expand(2, 8),
    ):  # fmt: skip
        rounded(call)
    assert torch.equal(x, THIRDS) and np.array_equal(array, THIRDS)
    assert rounded(THIRDS.argmax).item() == 7
    assert rounded(lambda: torch.ones(2, dtype=torch.float64).expand(3, 2).clone()).sum() == 6


def test_moved_numbers_are_rounded_once():
    """A tie of a number with its copy stays a tie, and a number at a bound stays there."""

    def tie() -> Any:
        y = THIRDS * 0.7
        copies = torch.cat([y]), torch.where(y > 0, y, 0.0), y.clone(), torch.relu(y)
        return [y, *copies, y.clamp(0.1, 1.0).clamp(0.1, 0.7)]

    first, *copies, clamped = rounded(tie)
    assert all(torch.equal(first, copy) for copy in copies)
    assert (clamped == coarse.number(0.7)).sum() == 6


def test_rounding_leaves_the_graph_as_it_is():
    """The gradient of a rounded result is that of the result, under transformations too."""
    x = THIRDS.clone().requires_grad_()
    (g,) = rounded(lambda: torch.autograd.grad(torch.tanh(x).sum(), x))
    torch.testing.assert_close(g, 1 - torch.tanh(THIRDS) ** 2)
    x = THIRDS.clone()
    out = rounded(lambda: torch.func.vmap(torch.func.grad(torch.tanh))(x))
    torch.testing.assert_close(out, 1 - torch.tanh(THIRDS) ** 2)


def test_a_saturated_result_of_an_approximation_moves():
    """Another library's tanh may be an ULP below 1; equal results move equally, none above 1."""
    x = torch.tensor([-30.0, 30.0, 30.0, 18.0, 0.0], dtype=torch.float64)
    out = rounded(lambda: torch.tanh(x))
    assert (1 - out.abs()).tolist()[:3] == [2.0**-52] * 3 and out[4] == 0
    assert (rounded(lambda: torch.sigmoid(torch.linspace(30, 40, 99).double())) <= 1).all()
    assert rounded(lambda: torch.exp(x - x)).tolist() == [1 - 2.0**-52] * 5
    assert torch.exp(torch.tensor(800.0).double()) == rounded(lambda: torch.exp(x * 30)).max()
