"""`port` writes readable JAX source for a torch module, whose gradients `prove` finds equal."""

import math
import re
import subprocess
import sys
from typing import Any

import jax
import numpy as np
import pytest
import torch
import torch.nn.functional as tf
from torch import nn
from torch.utils.checkpoint import checkpoint

from jaxgrad.parity.port.port import port
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import PortError


RNG = np.random.default_rng(0)


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm, self.heads = nn.LayerNorm(width), heads
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mask: torch.Tensor
        self.register_buffer("mask", torch.tril(torch.ones(8, 8)).bool())

    def attend(self, x):
        batch, length, width = x.size()
        # queries, keys and values at once
        q, k, v = self.qkv(x).split(width, dim=2)
        size = (batch, length, self.heads, width // self.heads)
        q, k, v = (y.view(size).transpose(1, 2) for y in (q, k, v))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.mask[:length, :length] == 0, float("-inf"))  # causal
        return self.proj(
            (tf.softmax(att, dim=-1) @ v).transpose(1, 2).reshape(batch, length, width)
        )

    def forward(self, x):
        return x + self.attend(self.norm(x))


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 4)
        self.blocks = nn.ModuleList(Block(4, heads) for heads in (2, 2))
        self.drop, self.head = nn.Dropout(0.1), nn.Linear(4, 7, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        x = self.drop(self.embed(ids))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bound):  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx.save_for_backward(x)
        ctx.bound = bound
        return x.clamp(-bound, bound)

    @staticmethod
    def backward(ctx, grad):  # pyright: ignore[reportIncompatibleMethodOverride]
        (x,) = ctx.saved_tensors
        return grad * (x.abs() <= ctx.bound).to(grad.dtype) * 0.5, None


class Behaviours(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.out = nn.Linear(3, 4), nn.Linear(4, 2)
        self.frozen = nn.Linear(4, 4).requires_grad_(False)
        self.cell = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    @torch.no_grad()
    def scale(self, h):
        return h.norm(dim=-1, keepdim=True)

    def forward(self, x, mask):
        h = self.inp(x)
        h = h / (self.scale(h) + 1e-6)
        with torch.no_grad():
            double = h * 2
        target = h.detach() + double
        h = self.frozen(h)
        h[mask] = 0
        h = checkpoint(self.cell, h, use_reentrant=False)
        h = Clip.apply(h, 0.5)
        h.register_hook(lambda grad: grad.clamp(-0.1, 0.1))
        h += target
        out = self.out(h)
        out[:, 0].mul_(3.0)
        return out


IDS = (RNG.integers(0, 7, (2, 5)),)
MASKED = (RNG.standard_normal((3, 3)).astype(np.float32), np.array([True, False, False]))


def written(module: nn.Module, *inputs: Any) -> str:
    """Return the source of a port that is not proved."""
    return port(module, inputs, prove=False).source


def test_a_language_model_is_ported_and_proved():
    """Names, comments, sizes and ties are kept; a class that occurs twice is one function."""
    torch.manual_seed(0)
    ported = port(Language().eval(), IDS)

    assert ported.report is not None and ported.report.verdict == "pass"
    for line in (
        "    # queries, keys and values at once",
        "    batch, length, width = x.shape",
        '    att = jnp.where(p["mask"][:length, :length] == 0, -jnp.inf, att)  # causal',
        '    for block in p["blocks"]:',
    ):
        assert line in ported.source.splitlines()
    assert ported.source.count("def ") == 3
    assert set(ported.reports) == {"train", "eval"}
    assert "torch." not in ported.source.replace("torch's", "")
    assert ported.trainable["embed"] == {"weight": True}
    assert "head" not in ported.params(Language().state_dict())


def test_gradient_behaviours_are_ported_and_proved():
    """Stopped values, checkpoints, Functions, hooks and changes in place have JAX's form."""
    torch.manual_seed(0)
    ported = port(Behaviours(), MASKED)

    assert ported.report is not None and ported.report.verdict == "pass"
    for part in (
        "double = lax.stop_gradient(h * 2)",
        "h = jnp.where(mask[..., None], 0, h)",
        'jax.checkpoint(cell)(p["cell"], h)',
        "@jaxgrad.from_function\nclass Clip:",
        "h = jaxgrad.hook(h, lambda grad: F.clamp(grad, min=-0.1, max=0.1))",
        "return out.at[:, 0].set(out[:, 0] * 3.0)",
    ):
        assert part in ported.source
    assert ported.trainable["frozen"] == {"weight": False, "bias": False}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "line, without",
    [
        ("double = lax.stop_gradient(h * 2)", "double = h * 2"),
        ("target = lax.stop_gradient(h) + double", "target = h + double"),
        ("h = jnp.where(mask[..., None], 0, h)", "pass"),
        ("h = Clip(h, 0.5)", "h = F.clamp(h, -0.5, 0.5)"),
        ("h = jaxgrad.hook(h, lambda grad: F.clamp(grad, min=-0.1, max=0.1))", "pass"),
        ("return out.at[:, 0].set(out[:, 0] * 3.0)", "return out"),
    ],
)
def test_a_port_without_the_line_of_a_behaviour_differs(line, without):
    """Each behaviour changes a gradient: without its line the port has other gradients."""
    torch.manual_seed(0)
    ported = port(Behaviours(), MASKED, prove=False)
    params = ported.params(Behaviours().state_dict())

    def gradients(source: str) -> list[np.ndarray]:
        space: dict[str, Any] = {}
        exec(source, space)
        grads = jax.grad(lambda p: (space["behaviours"](p, *MASKED) ** 2).sum())(params)
        return [np.asarray(g) for g in jax.tree.leaves(grads)]

    assert line in ported.source
    right, wrong = gradients(ported.source), gradients(ported.source.replace(line, without))
    assert not all(np.allclose(a, b, rtol=1e-3) for a, b in zip(right, wrong, strict=True))


def test_copies_that_differ_in_constants_are_one_function():
    """Two blocks of other heads are one function with a keyword."""

    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = Block(4, 2), Block(4, 4)

        def forward(self, x):
            return self.b(self.a(x))

    source = written(Two(), np.ones((1, 3, 4)))
    assert "def block(p, x, *, heads):" in source and "def attend(p, x, *, heads):" in source
    assert 'block(p["b"], block(p["a"], x, heads=2), heads=4)' in source


def test_a_test_on_a_size_is_asserted():
    """A folded `if` on a size is an assumption, and the port raises where it does not hold."""

    class Padded(nn.Module):
        def forward(self, x):
            if x.shape[1] > 64:
                x = tf.pad(x, (0, 1))
            return x * 2

    ported = port(Padded(), (np.ones((2, 4)),), prove=False)
    (assumption,) = ported.assumptions
    assert str(assumption).endswith(": x.shape[1] <= 64")
    with pytest.raises(AssertionError, match="torch takes another branch"):
        ported.fn({}, np.ones((2, 65)))


class Refused(nn.Module):
    def __init__(self, step):
        super().__init__()
        self.step, self.kept = step, None

    def forward(self, x):
        return self.step(self, x)


def _reads(self, x):
    return x * x.max().item()


def _stores(self, x):
    x.kept = self
    return x


def _shares(self, x):
    y = x.view(-1)
    x *= 2
    return y


def _masks(self, x):
    return x[x > 0]


@pytest.mark.parametrize(
    "step, reason",
    [
        (_reads, r"item\(\) reads the value of a tensor, which is not known when JAX traces"),
        (_stores, "`kept` of a tensor is set; give the name another tensor"),
        (_shares, "'y' shares memory with a tensor that line [0-9]+ changes in place"),
        (_masks, "a mask as an index makes a size that depends on values; use torch.where"),
    ],
)
def test_what_cannot_be_ported_is_refused_with_its_line(step, reason):
    """A refusal names the line of the torch source, the reason and a remedy."""
    with pytest.raises(PortError, match=reason) as caught:
        written(Refused(step), np.ones((2, 3)))
    assert str(caught.value).startswith("test_port.py:")


def test_the_file_needs_no_torch(tmp_path):
    """The written file runs in a process that has not imported torch."""
    ported = port(nn.Linear(3, 2), (np.ones((4, 3)),), prove=False)
    ported.write(tmp_path / "port.py")
    code = (
        "import sys, numpy as np, port; port.linear({'weight': np.ones((2, 3)), 'bias': "
        "np.ones(2)}, np.ones((4, 3))); assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_a_port_that_is_not_proved_is_not_returned(monkeypatch):
    """If the proof fails, `port` raises an error with the report."""
    monkeypatch.setattr(
        "jaxgrad.parity.port.source.syntax.dotted",
        _wrong(syntax.dotted),
    )

    class Tanh(nn.Linear):
        def forward(self, input):
            return torch.tanh(tf.linear(input, self.weight))

    with pytest.raises(PortError, match=r"the port of Tanh is not proved:\nFAIL") as error:
        port(Tanh(3, 2), (np.ones((2, 3), np.float32),))
    ported = error.value.ported
    assert ported.report.verdict == "fail"
    assert "jnp.sin(" in ported.source
    assert ported.fn(ported.params(Tanh(3, 2).state_dict()), np.ones((2, 3), np.float32)).shape == (
        2,
        2,
    )


def _wrong(dotted: Any) -> Any:
    return lambda text: dotted("jnp.sin" if text == "jnp.tanh" else text)


@pytest.mark.parametrize(
    ("module", "kind"),
    [
        (nn.Linear, "the class Linear, not a torch.nn.Module; create one: Linear(...)"),
        (lambda x: x, "a function, not a torch.nn.Module; call port(module, inputs)"),
    ],
)
def test_what_is_no_module_is_refused(module, kind):
    """The error says what was passed in place of a module, and what to pass."""
    words = re.escape(f"the first argument is {kind}")
    with pytest.raises(PortError, match=words):
        port(module, (np.ones(3, np.float32),))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            {"inputs": np.ones((4, 3), np.float32)},
            "inputs= needs a tuple of arrays, one for each argument of forward, as in (x,), got "
            "ndarray",
        ),
        (
            {"inputs": torch.ones(4, 3)},
            "inputs= needs a tuple of arrays, one for each argument of forward, as in (x,), got "
            "Tensor",
        ),
        (
            {"inputs": (np.ones((4, 3)),), "also": (np.ones((2, 3)),)},
            "also[0] needs a tuple of arrays, one for each argument of forward, as in (x,), got "
            "ndarray",
        ),
        (
            {"inputs": (np.ones((4, 3)),), "also": np.ones((2, 3))},
            "also= needs a list of inputs, as in also=[(x,)], got ndarray",
        ),
    ],
)
def test_an_array_that_is_not_in_a_tuple_is_refused(arguments, text):
    """The rows of an array are not taken for the inputs; the error shows the tuple."""
    with pytest.raises(PortError) as error:
        port(nn.Linear(3, 2), **arguments)
    assert str(error.value) == text


@pytest.mark.parametrize("style", ["functions", "nnx"])
def test_an_input_that_is_passed_by_name_keeps_its_name(style):
    """The port's argument is `input` if the inputs are a mapping, and `x` if they are a tuple."""
    x = RNG.standard_normal((4, 3)).astype(np.float32)
    named = port(nn.Linear(3, 2), {"input": x}, style=style)
    unnamed = port(nn.Linear(3, 2), (x,), style=style)

    assert "F.linear(input, " in named.source and "F.linear(x, " in unnamed.source
    reports = [*named.reports.values(), *unnamed.reports.values()]
    assert [report.verdict for report in reports] == ["pass"] * 2
