"""What statements of torch modules become: each behaviour is ported and proved."""

import functools
from typing import Any

import jax
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity.port.port import port
from tests.jaxgrad.parity.port._ports import source


RNG = np.random.default_rng(0)
X = RNG.standard_normal((3, 4)).astype(np.float32)


class Noise(nn.Module):
    """Dropout and a draw in train mode."""

    lines = (
        "drop_rng, normal_rng = jax.random.split(rng)",
        'F.dropout(F.linear(x, **p["inp"]), p=0.5, training=training, key=drop_rng)',
        "jax.random.normal(normal_rng, h.shape, h.dtype)",
    )

    def __init__(self):
        super().__init__()
        self.inp, self.drop, self.out = nn.Linear(4, 3), nn.Dropout(0.5), nn.Linear(3, 2)

    def forward(self, x):
        h = self.drop(self.inp(x))
        return self.out(h + torch.randn_like(h))


class Statistics(nn.Module):
    """Batch norm in train mode, in a loop and in a sequence."""

    lines = (
        "    units = []",
        '    for unit in p["units"]:',
        "        units.append(unit)",
        '    p["units"] = units',
        '    x, p["running_mean"], p["running_var"] = F.batch_norm(',
    )

    def __init__(self):
        super().__init__()
        self.units = nn.ModuleList(nn.Sequential(nn.BatchNorm1d(4), nn.Tanh()) for _ in range(2))
        self.last = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))

    def forward(self, x):
        for unit in self.units:
            x = x + unit(x)
        return self.last(x)


class Recurrent(nn.Module):
    """Recurrent layers."""

    lines = (
        'end_l0, out_l0 = scan("l0", (start[0][0], start[1][0]), x)',
        "last, x = lax.scan(step, start, x)",
    )

    def __init__(self):
        super().__init__()
        self.lstm, self.gru = nn.LSTM(4, 3, bidirectional=True), nn.GRU(6, 2, batch_first=True)

    def forward(self, x):
        y, (h, _) = self.lstm(x[None].repeat(2, 1, 1))
        return self.gru(y.transpose(0, 1))[0] + h.mean()


class Branches(nn.Module):
    """Branches on the value of a tensor."""

    lines = (
        "h, y = lax.cond(h.sum() > 0, then, lambda h: (h, F.max(h, dim=0).values), h)",
        "lax.cond(h.mean() > 1, lambda: h[0], lambda: h[1])",
    )

    def __init__(self):
        super().__init__()
        self.inp = nn.Linear(4, 3)

    def forward(self, x):
        h = self.inp(x)
        if h.sum() > 0:
            h = h * 2
            y = h.mean(0)
        else:
            y = h.max(0).values
        return y + (h[0] if h.mean() > 1 else h[1])


def double(module: Any, args: Any, out: Any) -> Any:
    return out * 2


class Hooks(nn.Module):
    """Hooks on a parameter and on modules."""

    lines = (
        'jaxgrad.hook(p["a"]["weight"], lambda grad: grad * 0.5)',
        'lambda x: F.linear(x, **p["b"]),',
        "lambda grad_inputs, grad_outputs: (F.clamp(grad_inputs[0], min=-0.1, max=0.1),),",
    )

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 2)
        self.a.weight.register_hook(lambda grad: grad * 0.5)
        self.a.register_forward_hook(double)
        self.b.register_full_backward_hook(lambda module, given, got: (given[0].clamp(-0.1, 0.1),))

    def forward(self, x):
        return self.b(self.a(x)) + self.a(x).sum()


class Penalty(nn.Module):
    """A gradient inside of the module."""

    lines = ('(slope,) = jax.vjp(lambda x: score_forward(p["score"], x), x)[1](ones)',)

    def __init__(self):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 1))

    def forward(self, x):
        x = x.detach().requires_grad_()
        score = self.score(x)
        ones = torch.ones_like(score)
        (slope,) = torch.autograd.grad(score, x, ones, create_graph=True)
        return score.mean() + ((slope.norm(dim=1) - 1) ** 2).mean()


class Region(nn.Module):
    """A region under autocast."""

    lines = ('h = jaxgrad.autocast(lambda: F.linear(x, **p["a"]), jnp.bfloat16)()',)

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x):
        with torch.autocast("cpu", torch.bfloat16):
            h = self.a(x)
        return self.b(h.to(x.dtype))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", [Noise, Statistics, Recurrent, Branches, Hooks, Penalty, Region])
def test_a_behaviour_is_ported_and_proved(kind):
    """The port has the lines of the behaviour and torch's gradients; the module is unchanged."""
    torch.manual_seed(0)
    module = kind()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    ported = port(module, (X,))

    assert ported.report is not None and ported.report.verdict == "pass"
    assert [line for line in kind.lines if line not in ported.source] == []
    assert ported.draws == (kind is Noise) and ported.has_state == (kind is Statistics)
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())


def test_new_buffers_are_returned():
    """The entry returns its outputs and the params with the new statistics."""
    torch.manual_seed(0)
    module = Statistics()
    ported = port(module, (X,), prove=False)
    _, params = jax.jit(functools.partial(ported.fn, training=True))(
        ported.params(module.state_dict()), X
    )
    module(torch.tensor(X))

    norm = params["units"][1][0]
    expected = module.units[1][0].running_mean  # pyright: ignore[reportIndexIssue]
    np.testing.assert_allclose(norm["running_mean"], expected.numpy(), rtol=1e-5)
    assert int(norm["num_batches_tracked"]) == 1


class Checks(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        if not torch.compiler.is_compiling() and not (h.max() < 100 and h.min() > -100):
            raise ValueError("out of range")
        return h * 2


def test_a_check_of_values_that_only_raises_is_left_out():
    """A test that is not known when JAX traces decides nothing but whether torch raises."""
    ported = port(Checks(), (X,))
    assert "100" not in ported.source
    assert ported.report is not None and ported.report.verdict == "pass"


class Chosen(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        word = "first"
        for name, module in self.named_children():
            if name is word:
                x = module(x)
        return x


def test_a_word_is_the_same_object_as_an_equal_word():
    """As in Python, which keeps one object for each name."""
    report = port(Chosen(), (np.ones((2, 3), np.float32),)).report
    assert report is not None and report.verdict == "pass"


class Described(nn.Module):
    def forward(self, x, scale=None):
        # with a scale
        if scale is not None:
            # it is multiplied
            x = x * scale
        else:
            # it is squared
            x = x * x
        # without a scale
        if scale is None:
            x = x.tanh()
        return x


def test_the_comment_above_an_arm_that_is_not_taken_is_left_out():
    """Comments inside of the other arm, and above one that is taken, are kept."""
    text = source(Described(), np.ones((2, 3), np.float32))
    comments = [line.strip() for line in text.splitlines() if line.strip().startswith("#")]
    assert comments == ["# it is squared", "# without a scale"]
