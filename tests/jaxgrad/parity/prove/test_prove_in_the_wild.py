"""Pairs in the style of other people's code: what a prover meets outside of its own twins."""

import re
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from flax import linen
from jax import lax
from torch import Tensor, nn

from jaxgrad.parity import Report, prove
from parity_tests.case import identity


def arrays(module: nn.Module) -> dict[str, np.ndarray]:
    return {name: x.detach().numpy() for name, x in module.state_dict().items()}


def draw(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(shape).astype(np.float32)


# A decoder: a table of positions that each side rounds in its own way, and tied embeddings.


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
    """One head, one layer, the names of a well-known one."""

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

        def turned(y: Tensor) -> Tensor:
            left, right = y.chunk(2, -1)
            return y * cos + torch.cat((-right, left), -1) * sin

        q, k = turned(self.q_proj(x)), turned(self.k_proj(x))
        low = torch.finfo(x.dtype).min
        bias = (1 - attention_mask[:, None, :].to(x.dtype)) * low
        weights = ((q @ k.mT) / 8**0.5 + bias).softmax(-1)
        x = x + self.act_fn(weights @ x)
        return {"logits": x @ self.embed_tokens.weight.T}


def halves(x: Any) -> Any:
    return jnp.concatenate([-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]], -1)


def tiled(x: Any) -> Any:
    """The wrong half has the minus."""
    return -halves(x)


class LinenDecoder(linen.Module):
    """Computes in float32 whatever it is given."""

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


def decoder(**planted: Any) -> Report:
    torch.manual_seed(0)
    module = Decoder()
    state = arrays(module)
    params = {
        "embed_tokens": {"embedding": state["embed_tokens.weight"]},
        "q_proj": {"kernel": state["q_proj.weight"].T},
        "k_proj": {"kernel": state["k_proj.weight"].T},
        # A converter writes the tied weight once more, and nobody reads it.
        "lm_head": {"kernel": state["embed_tokens.weight"].T},
    }
    mask = np.ones((2, 5), np.int64)
    mask[1, 3:] = 0
    inputs = {"input_ids": np.arange(10).reshape(2, 5), "attention_mask": mask}
    return prove(module, LinenDecoder(**planted), {"params": params}, inputs)


def test_a_port_that_computes_in_float32_and_holds_a_spare_copy_is_right():
    decoder().check()


@pytest.mark.parametrize(
    ("planted", "surface", "where"),
    [
        ({"rotate": tiled}, "forward", "(the module)"),
        ({"gelu": jax.nn.gelu}, "forward", "act_fn"),
        ({"stop": lax.stop_gradient}, "backward", "k_proj"),
    ],
)
def test_a_bug_beside_a_rounded_table_is_placed(planted: Any, surface: str, where: str):
    first = decoder(**planted).first
    assert first is not None
    assert (first.surface, first.torch) == (surface, where)
    assert "test_prove_unseen.py" in first.jax


# torch's own encoder layer: its attention is seen from inside.


def encoder(scale: float = 0.5, stop: Callable[[Any], Any] = identity) -> Report:
    torch.manual_seed(0)
    module = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval()
    p = {name.replace(".", "_"): x for name, x in arrays(module).items()}

    def norm(p: Any, name: str, x: Any) -> Any:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / jnp.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
        return scaled * p[name + "_weight"] + p[name + "_bias"]

    def apply(p: Any, x: Any, mask: Any) -> Any:
        packed = x @ p["self_attn_in_proj_weight"].T + p["self_attn_in_proj_bias"]
        q, k, v = (y.reshape(2, 5, 2, 4).swapaxes(1, 2) for y in jnp.split(packed, 3, -1))
        scores = q @ k.swapaxes(2, 3) * scale
        scores = jnp.where(mask[:, None, None, :], -jnp.inf, scores)
        mixed = jax.nn.softmax(scores) @ stop(v)
        mixed = mixed.swapaxes(1, 2).reshape(2, 5, 8)
        x = x + mixed @ p["self_attn_out_proj_weight"].T + p["self_attn_out_proj_bias"]
        x = norm(p, "norm1", x)
        y = jax.nn.relu(x @ p["linear1_weight"].T + p["linear1_bias"])
        return norm(p, "norm2", x + y @ p["linear2_weight"].T + p["linear2_bias"])

    mask = np.zeros((2, 5), bool)
    mask[1, 3:] = True

    class Masked(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = module

        def forward(self, x: Tensor, mask: Tensor) -> Tensor:
            return self.layer(x, src_key_padding_mask=mask)

    return prove(Masked(), apply, p, (draw(2, 5, 8), mask))


def test_the_inside_of_multi_head_attention_is_seen():
    encoder().check()
    wrong = encoder(scale=0.25).first
    assert wrong is not None
    assert (wrong.torch, wrong.op) == ("layer.self_attn", "scaled_dot_product_attention")
    assert wrong.cause.startswith("scale 1/d")
    stopped = encoder(stop=lax.stop_gradient).first
    assert stopped is not None
    assert (stopped.surface, stopped.torch) == ("backward", "layer.self_attn")
    assert re.search(r"test_prove_unseen.py:\d+ \(stop_gradient\)", stopped.jax)


# A recurrence in a scripted function, and the same value read by several calls.


def step(h: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return a * h + b


with warnings.catch_warnings():  # torch advises against it; people's code is full of it
    warnings.simplefilter("ignore", DeprecationWarning)
    step = torch.jit.script(step)


class Recurrence(nn.Module):
    def __init__(self):
        super().__init__()
        self.log_decay = nn.Parameter(torch.linspace(-1.0, 0.5, 4))
        self.skip = nn.Parameter(torch.ones(4))
        self.enter = nn.Linear(3, 4)

    def forward(self, x: Tensor) -> Tensor:
        u = self.enter(x).transpose(0, 1)
        decay = torch.exp(-torch.exp(self.log_decay))
        h, out = torch.zeros_like(u[0]), []
        for t in range(len(u)):
            h = step(h, decay, u[t])
            out.append(h)
        return torch.stack(out, 1) + self.skip * u.transpose(0, 1)


def recurrence(
    sign: float = -1.0,
    stop_carry: Callable[[Any], Any] = identity,
    stop_skip: Callable[[Any], Any] = identity,
) -> Report:
    torch.manual_seed(0)
    module = Recurrence()
    p = {name.replace(".", "_"): x for name, x in arrays(module).items()}

    def apply(p: Any, x: Any) -> Any:
        u = x @ p["enter_weight"].T + p["enter_bias"]
        decay = jnp.exp(sign * jnp.exp(p["log_decay"]))

        def body(h: Any, v: Any) -> Any:
            h = decay * stop_carry(h) + v
            return h, h

        _, out = lax.scan(body, jnp.zeros((2, 4), x.dtype), u.swapaxes(0, 1))
        return out.swapaxes(0, 1) + p["skip"] * stop_skip(u)

    return prove(module, apply, p, (draw(2, 5, 3),))


def test_what_a_scripted_function_made_is_followed():
    recurrence().check()
    wrong = recurrence(sign=-0.5).first
    assert wrong is not None
    assert (wrong.surface, wrong.op) == ("forward", "neg")
    carry = recurrence(stop_carry=lax.stop_gradient).first
    assert carry is not None
    assert carry.surface == "backward"


def test_one_of_several_readers_of_a_value_is_blamed():
    first = recurrence(stop_skip=lax.stop_gradient).first
    assert first is not None
    assert (first.surface, first.op) == ("backward", "mul")
    assert "stop_gradient" in first.jax


# A critic and its target, a copy at the start: its bias is one number.


def test_a_copied_bias_of_one_number_has_its_own_leaf():
    torch.manual_seed(0)

    class Critic(nn.Module):
        def __init__(self):
            super().__init__()
            self.online, self.target = nn.Linear(3, 1), nn.Linear(3, 1).requires_grad_(False)
            self.target.load_state_dict(self.online.state_dict())

        def forward(self, x: Tensor, following: Tensor) -> Tensor:
            return (self.online(x) - 0.9 * self.target(following)) ** 2

    module = Critic()
    p = {
        name: {"w": part.weight.detach().numpy().T, "b": part.bias.detach().numpy()}
        for name, part in module.named_children()
        if isinstance(part, nn.Linear)
    }

    def apply(p: Any, x: Any, following: Any) -> Any:
        q = x @ p["online"]["w"] + p["online"]["b"]
        frozen = lax.stop_gradient(p["target"])
        return (q - 0.9 * (following @ frozen["w"] + frozen["b"])) ** 2

    prove(module, apply, p, (draw(4, 3), draw(4, 3)[::-1])).check()


# Layers under scan and remat: the lines of a loop's body, and stops in it.


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(4) + 0.5)
        self.query = nn.Linear(4, 4, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.scale
        return x + (self.query(y) @ y.mT).softmax(-1) @ y


def stacked(
    eps: float = 1e-5,
    stop_query: Callable[[Any], Any] = identity,
) -> tuple[Report, int]:
    torch.manual_seed(0)
    module = nn.Sequential(Block(), Block())
    state = arrays(module)
    p = {
        name: np.stack([state[f"{i}.{name}"] for i in (0, 1)]) for name in ("scale", "query.weight")
    }

    def norm(x: Any, scale: Any) -> Any:
        size = jnp.mean(x**2, -1, keepdims=True)
        return x * lax.rsqrt(size + eps) * scale

    @jax.checkpoint
    def block(x: Any, p: Any) -> Any:
        y = norm(x, p["scale"])
        query = y @ stop_query(p["query.weight"]).T
        scores = query @ y.swapaxes(1, 2)
        return x + jax.nn.softmax(scores) @ y, None

    def apply(p: Any, x: Any) -> Any:
        return lax.scan(block, x, p)[0]

    return prove(module, apply, p, (draw(2, 3, 4),)), norm.__code__.co_firstlineno


def test_the_line_inside_a_scanned_layer_is_named():
    right, _ = stacked()
    right.check()
    wrong, line = stacked(eps=1e-6)
    assert wrong.first is not None
    assert wrong.first.torch == "0"
    assert wrong.first.jax.startswith(f"test_prove_unseen.py:{line + 2} ")


def test_the_stop_that_cuts_a_weight_off_is_named_not_that_of_softmax():
    wrong, line = stacked(stop_query=lax.stop_gradient)
    assert wrong.first is not None
    assert (wrong.first.surface, wrong.first.torch) == ("structure", "0.query.weight")
    assert f"test_prove_unseen.py:{line + 7} (stop_gradient)" in wrong.first.cause


# Cells that make their own float32 carry, as flax's do, whatever they are given.


def cells(stop: Callable[[Any], Any] = identity) -> Report:
    torch.manual_seed(0)
    module = nn.GRU(3, 4, batch_first=True)
    state = arrays(module)
    p: dict[str, Any] = {}
    for k, gate in enumerate("rzn"):
        rows = slice(4 * k, 4 * k + 4)
        enter, carried = state["bias_ih_l0"][rows], state["bias_hh_l0"][rows]
        p[f"i{gate}"] = {"kernel": state["weight_ih_l0"][rows].T}
        p[f"h{gate}"] = {"kernel": state["weight_hh_l0"][rows].T}
        p[f"i{gate}"]["bias"] = enter if gate == "n" else enter + carried
        if gate == "n":
            p["hn"]["bias"] = carried
    rnn = linen.RNN(linen.GRUCell(4))

    def apply(p: Any, x: Any) -> Any:
        return rnn.apply({"params": {"cell": p}}, stop(x))

    return prove(module, apply, p, (draw(2, 3, 3),), outputs=(lambda out: out[0], None))


def test_a_cell_that_takes_no_float64_is_traced_in_float32_and_judged_in_float64():
    report = cells().check()
    assert "traced in float32" in report.notes[0]
    stopped = cells(stop=lax.stop_gradient)
    assert stopped.verdict == "fail"


# An associative scan of odd length slices empty arrays; torch loops.


def test_a_loop_may_be_an_associative_scan():
    torch.manual_seed(0)

    class Loop(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(3, 3)

        def forward(self, x: Tensor) -> Tensor:
            decay, h, out = torch.sigmoid(self.gate(x)), torch.zeros(2, 3, dtype=x.dtype), []
            for t in range(x.shape[1]):
                h = decay[:, t] * h + x[:, t]
                out.append(h)
            return torch.stack(out, 1)

    module = Loop()
    p = arrays(module)

    def apply(p: Any, x: Any) -> Any:
        decay = jax.nn.sigmoid(x @ p["gate.weight"].T + p["gate.bias"])

        def joined(one: Any, two: Any) -> Any:
            return one[0] * two[0], two[0] * one[1] + two[1]

        return lax.associative_scan(joined, (decay, x), axis=1)[1]

    prove(module, apply, p, (draw(2, 5, 3),)).check()


# Vector quantization: one difference made twice, with and without a gradient.


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


def test_a_difference_made_twice_is_not_blamed_for_its_gradient():
    quantizer().check()
    swapped = quantizer(weights=(0.25, 1.0)).first
    assert swapped is not None
    assert (swapped.surface, swapped.torch, swapped.op) == ("backward", "(the module)", "mse_loss")
    assert "0.25 times torch's" in swapped.cause
    lost = quantizer(through=identity).first
    assert lost is not None
    assert (lost.surface, lost.torch, lost.op) == ("backward", "(the module)", "detach")


# A tied weight, one of whose uses is stopped: no value inside is wrong.


def test_the_stop_that_takes_a_part_of_a_weights_gradient_is_named():
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
    assert f"stopped at test_prove_unseen.py:{line} (stop_gradient)" in first.cause


# Two towers of one kind: the scales of their norms are all ones.


def test_a_norms_ones_belong_to_the_tower_around_them():
    torch.manual_seed(0)

    def tower(size: int) -> nn.Sequential:
        return nn.Sequential(nn.Linear(size, 4), nn.LayerNorm(4), nn.Linear(4, 2))

    class Towers(nn.Module):
        def __init__(self):
            super().__init__()
            self.visual, self.textual = tower(3), tower(5)

        def forward(self, image: Tensor, text: Tensor) -> Tensor:
            return self.visual(image) @ self.textual(text).T

    module = Towers()
    state = arrays(module)
    p: dict[str, Any] = {}
    for ours, theirs in (("image", "visual"), ("words", "textual")):
        for k, part in enumerate(("enter", "norm", "leave")):
            held = {"kernel": state[f"{theirs}.{k}.weight"].T, "bias": state[f"{theirs}.{k}.bias"]}
            p.setdefault(ours, {})[part] = held

    def one(p: Any, x: Any) -> Any:
        x = x @ p["enter"]["kernel"] + p["enter"]["bias"]
        x = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
        x = x * p["norm"]["kernel"] + p["norm"]["bias"]
        return x @ p["leave"]["kernel"] + p["leave"]["bias"]

    def apply(p: Any, image: Any, text: Any) -> Any:
        return one(p["image"], image) @ one(p["words"], text).T

    prove(module, apply, p, (draw(4, 3), draw(4, 5))).check()


def test_a_complex_parameter_stays_complex():
    torch.manual_seed(0)

    class Spectral(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(3, dtype=torch.cfloat))

        def forward(self, x: Tensor) -> Tensor:
            return torch.fft.irfft(torch.fft.rfft(x) * self.weight, n=x.shape[-1])

    module = Spectral()

    def apply(p: Any, x: Any, stop: Callable[[Any], Any] = identity) -> Any:
        return jnp.fft.irfft(jnp.fft.rfft(x) * stop(p["weight"]), n=x.shape[-1])

    def halved(w: Any) -> Any:
        return w.real + 1j * lax.stop_gradient(w.imag)

    inputs = (draw(2, 4),)
    prove(module, apply, arrays(module), inputs).check()
    first = prove(module, lambda p, x: apply(p, x, halved), arrays(module), inputs).first
    assert first is not None
    assert (first.surface, first.torch) == ("gradients", "weight")


class EverySecond(torch.optim.SGD):
    """Accumulates over two steps, as a training loop would, and takes the mean."""

    calls = 0

    def zero_grad(self, set_to_none: bool = True) -> None:
        del set_to_none

    def step(self, closure: Any = None) -> None:
        self.calls += 1
        if self.calls % 2 == 0:
            for p in self.param_groups[0]["params"]:
                p.grad /= 2
            super().step(closure)
            super().zero_grad()


@pytest.mark.parametrize("every", [2, 3])
def test_an_optimizer_may_keep_float32_of_its_own(every: int):
    torch.manual_seed(0)
    module = nn.Linear(3, 2)

    def apply(p: Any, x: Any) -> Any:
        return x @ p["weight"].T + p["bias"]

    ours = optax.MultiSteps(optax.sgd(0.1), every_k_schedule=every)
    optimizer = (lambda p: EverySecond(p, lr=0.1), ours)
    losses = (lambda out: (out**2).mean(), lambda out: (out**2).mean())
    report = prove(module, apply, arrays(module), (draw(4, 3),), loss=losses,
                   optimizer=optimizer, steps=4)  # fmt: skip
    assert report.surfaces["updates"].verdict == ("pass" if every == 2 else "fail")
