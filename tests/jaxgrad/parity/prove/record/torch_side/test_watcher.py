"""Values inside multi-head attention and scripted functions are recorded, with all consumers."""

import inspect
import re
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch import Tensor, nn

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.record.torch_side import run as torch_run
from jaxgrad.parity.prove.record.torch_side import watcher
from parity_tests.case import identity
from tests.jaxgrad.parity.prove._helpers import arrays, draw


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


@pytest.mark.slow
def test_bugs_inside_multi_head_attention_are_located():
    """A wrong scale and a stopped value inside torch's attention are located."""
    encoder().check()
    wrong = encoder(scale=0.25).first
    assert wrong is not None
    assert (wrong.torch, wrong.op) == ("layer.self_attn", "scaled_dot_product_attention")
    assert wrong.cause.startswith("the scale is 1/d")
    stopped = encoder(stop=lax.stop_gradient).first
    assert stopped is not None
    assert (stopped.surface, stopped.torch) == ("backward", "layer.self_attn")
    assert re.search(r"test_watcher.py:\d+ \(stop_gradient\)", stopped.jax)


def step(h: Tensor, a: Tensor, b: Tensor) -> Tensor:
    return a * h + b


with warnings.catch_warnings():  # torch deprecates scripting, which much code still uses
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


def test_values_of_a_scripted_function_are_recorded():
    """Bugs are located in a recurrence that torch runs in a scripted function."""
    recurrence().check()
    wrong = recurrence(sign=-0.5).first
    assert wrong is not None
    assert (wrong.surface, wrong.op) == ("forward", "neg")
    carry = recurrence(stop_carry=lax.stop_gradient).first
    assert carry is not None
    assert carry.surface == "backward"


def test_the_wrong_consumer_of_a_value_is_located():
    """If several consumers read a value, the one with the wrong gradient is located."""
    first = recurrence(stop_skip=lax.stop_gradient).first
    assert first is not None
    assert (first.surface, first.op) == ("backward", "mul")
    assert "stop_gradient" in first.jax


def test_only_autograd_keeps_values_after_the_forward_pass():
    """A value that the backward pass does not read is freed, and its cotangent is recorded."""
    alive = []

    class Net(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            unread = x + 1
            alive.append(weakref.ref(unread))
            return (unread + 1).sin()

    def cotangent(output: np.ndarray) -> np.ndarray:
        alive.append(alive[0]())  # called between the passes
        return np.ones_like(output)

    result = torch_run.run(Net(), (np.ones(3),), cotangents=cotangent)

    assert alive[1] is None
    assert [v.op for v in result.values if v.cotangent is not None][:3] == ["input", "add", "add"]


def test_a_cotangent_is_kept_with_its_value():
    """A run that keeps values keeps the cotangents at full size, too."""
    run = torch_run.run(nn.Tanh(), (np.ones(3),), cotangents=np.ones_like, keep=True)
    value = next(v for v in run.values if v.op == "tanh")

    assert value.cotangent_data is not None and list(value.cotangent_data) == [1, 1, 1]


class Shift(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, w: Tensor) -> Any:
        del ctx
        return x + w, x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        del ctx
        return grads[0] + 3 * grads[1], grads[0].sum(0)


class Shifting(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2, dtype=torch.float64))
        self.last = nn.Tanh()

    def forward(self, x: Tensor) -> Tensor:
        shifted, same = Shift.apply(x.exp(), self.w)
        return self.last(shifted) * same


def test_the_results_of_a_custom_function_are_recorded_with_their_gradients():
    """Each result reads the value inside `forward` and the Function's operands, on its line."""
    made = torch_run.run(Shifting(), (np.ones((3, 2)),), cotangents=np.ones_like, keep=True)
    shifts = [v for v in made.values if v.op == "Shift"]
    assert [bool(v.function) for v in made.values] == [v.op == "Shift" for v in made.values]
    ops = [[made.values[k].op for k in v.inputs] for v in shifts]
    assert ops == [["add", "exp"], ["view_as", "exp"]]
    line = inspect.getsourcelines(Shift.backward)[1] + 1
    assert [v.rule for v in shifts] == [f"test_watcher.py:{line}"] * 2
    assert [v.weights for v in shifts] == [("w",), ("w",)]
    assert all(v.cotangent is not None for v in shifts)
    assert [v.module for v in shifts] == ["", ""]
    lines = {v.line for v in made.values if v.op in ("add", "view_as")}
    assert {v.line for v in shifts} == lines
    (tanh,) = (c for c in made.calls if c.module == "last")
    assert [made.values[k].op for k in tanh.inputs] == ["Shift"]
    assert [made.values[k].op for k in made.values[-1].inputs] == ["tanh", "Shift"]


def kept(module: nn.Module) -> Any:
    return torch_run.run(module, (np.arange(3.0),), cotangents=np.ones_like, keep=True).values


@pytest.mark.parametrize(("budget", "count"), [(0, 0), (23, 0), (24, 1), (47, 1), (48, 2), (99, 4)])
def test_values_are_kept_up_to_a_number_of_bytes(monkeypatch, budget, count):
    """Two values of three numbers, and then their cotangents, take 24 bytes each."""
    monkeypatch.setattr(watcher, "_KEPT", budget)
    values = kept(nn.Tanh())
    arrays = [v.data for v in values] + [v.cotangent_data for v in reversed(values)]
    assert [x is not None for x in arrays] == [n < count for n in range(4)]
    assert all(v.print is not None and v.cotangent is not None for v in values)


class InPlace(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = x.sin()
        y.add_(1)
        return y * 2


def test_a_value_that_is_changed_in_place_is_recorded_twice():
    """What is kept is the value at the time of the call."""
    values = kept(InPlace())
    assert [v.op for v in values] == ["input", "sin", "add", "mul"]
    assert [v.inputs for v in values] == [(), (0,), (1,), (2,)]
    assert [v.call_number for v in values] == [-1, 2, 3, 4]
    assert all(v.line.startswith("test_watcher.py:") for v in values[1:])
    quick = torch_run.run(InPlace(), (np.arange(3.0),)).values
    assert [v.line for v in quick] == [""] * 4 and all(v.call is None for v in quick)
    np.testing.assert_allclose(values[1].data, np.sin(np.arange(3.0)))
    np.testing.assert_allclose(values[2].data, np.sin(np.arange(3.0)) + 1)


class Averaging(nn.Module):
    """An average that a forward pass changes in place, and reads detached."""

    average: Tensor

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3).double()
        self.register_buffer("average", torch.arange(1.0, 4, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        y = self.fc(x)
        with torch.no_grad():
            self.average.mul_(0.9).add_(y, alpha=0.1)
            self.average[0] = 2.0
        return y - self.average.detach()


def test_a_buffer_that_is_changed_in_place_becomes_a_value():
    """Later calls read the changed value, and no longer the buffer; `buffer[i] = x` counts too."""
    values = kept(Averaging())
    assert [v.op for v in values] == ["input", "linear", "mul", "add", "setitem", "detach", "sub"]
    assert [v.inputs for v in values] == [(), (0,), (), (2, 1), (3,), (4,), (1, 5)]
    assert [v.weights for v in values[2:]] == [("average",), (), (), (), ()]
    np.testing.assert_allclose(values[2].data, 0.9 * np.arange(1.0, 4))
    assert values[4].data[0] == 2.0


@pytest.mark.parametrize("kept_share", [0.9, 0.99])
def test_a_wrong_average_in_place_is_placed_at_its_call(kept_share):
    """The detach that reads the buffer is no place: its operand is the changed buffer."""
    torch.manual_seed(0)
    module = Averaging()
    weight, bias = (p.detach().numpy() for p in module.fc.parameters())
    params = {"weight": weight, "bias": bias, "average": module.average.numpy().copy()}

    def port(p: Any, x: Any) -> Any:
        y = x @ p["weight"].T + p["bias"]
        average = (kept_share * p["average"] + 0.1 * y).at[0].set(2.0)
        return y - lax.stop_gradient(average), {"average": average}

    report = prove(module, port, params, (draw(3),), has_state=True)
    assert report.verdict == ("pass" if kept_share == 0.9 else "fail"), report
    if report.first is not None:
        assert (report.first.surface, report.first.op) == ("forward", "mul")


class Scripted(nn.Module):
    """A scripted function of an input, of a weight twice, and of a value."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return step(x, self.w, self.w * 2)


def test_the_operands_of_a_scripted_function_are_found_in_the_graph():
    """An input, a weight and a value each have a node of their own."""
    values = kept(Scripted())
    (last,) = (v for v in values if v.op not in ("input", "mul"))
    assert sorted(values[k].op for k in last.inputs) == ["input", "mul"]
    assert last.weights == ("w",)


class Transformed(nn.Module):
    """The gradient of an energy, one vector after the other."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Tensor:
        def energy(y: Tensor) -> Tensor:
            return torch.tanh(self.fc(y)).sum()

        return torch.func.vmap(torch.func.grad(energy))(x) * 2


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kept", [identity, lax.stop_gradient])
def test_a_gradient_inside_of_a_module_is_proved(kept: Callable[[Any], Any]):
    """Values under `torch.func.grad` have no numbers; the gradient itself is recorded."""
    torch.manual_seed(0)
    module = Transformed()

    def apply(p: Any, x: Any) -> Any:
        def energy(y: Any) -> Any:
            return jnp.tanh(y @ kept(p["fc.weight"]).T + p["fc.bias"]).sum()

        return jax.vmap(jax.grad(energy))(x) * 2

    report = prove(module, apply, arrays(module), (draw(4, 3),))
    assert report.verdict == ("pass" if kept is identity else "fail")
