"""A report blames the port: the JAX program, or with reference="jax" torch's."""

import dataclasses
import functools
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from jax import lax
from torch import Tensor, nn
from torch.nn import functional

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove import wording
from jaxgrad.parity.prove.report import headline, sentence
from jaxgrad.parity.prove.wording import InJax, Missing, Multiple, Order, Rerun, Setting, Told


INPUTS = (np.random.default_rng(0).normal(size=(4, 6)),)


def port(between: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """Return the JAX program with a function between its two layers."""

    def fn(p: Any, x: Any) -> Any:
        h = between(x @ p["a.weight"].T + p["a.bias"], x)
        return h @ p["b.weight"].T + p["b.bias"]

    return fn


def normalized(h: Any, _: Any) -> Any:
    h = h - h.mean(-1, keepdims=True)
    return h / jnp.sqrt((h * h).mean(-1, keepdims=True) + 1e-2)


def sines(h: Any, _: Any) -> Any:
    h = jnp.tanh(h)
    return h * jnp.sin(h)


def stopped(h: Any, _: Any) -> Any:
    h = jnp.tanh(h)
    return h * lax.stop_gradient(jnp.sin(h))


def batch_norm(p: Any, x: Any) -> Any:
    h = x @ p["a.weight"].T + p["a.bias"]
    mean, var = h.mean(0), h.var(0)
    mixed = {"n.running_mean": mean, "n.running_var": var * len(h) / (len(h) - 1)}
    new = {name: 0.9 * p[name] + 0.1 * value for name, value in mixed.items()}
    return (h - mean) / jnp.sqrt(var + 1e-5) @ p["b.weight"].T + p["b.bias"], new


TANH = port(lambda h, _: jnp.tanh(h))


class Row(NamedTuple):
    """A pair of programs that differ, and the clauses for both directions."""

    module: type[nn.Module]
    fn: Callable[..., Any]
    to_jax: str  # the clause with reference="torch"
    to_torch: str
    edit: str = ""  # the suggested line of torch's code
    arguments: Any = {}  # noqa: RUF012


def adam(parameters: Any) -> Any:
    return torch.optim.AdamW(parameters, 1e-2, weight_decay=0.1)


def sgd(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, 1e-2)


NAMES = (
    "activation eps gelu number missing_call axis order extra_stop missing_stop hook frozen "
    "momentum decay rate"
).split()


@functools.cache
def rows() -> dict[str, "Row"]:
    """Return the pairs.

    The modules are defined when a test runs: functions from before `gc.freeze` cannot be edited.
    """

    class Net(nn.Module):
        """Two layers with a function between them, whose line each module below has."""

        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.a, self.b = nn.Linear(6, 6), nn.Linear(6, 3)

        def between(self, h: Tensor, x: Tensor) -> Tensor:
            del x
            return torch.tanh(h)

        def forward(self, x: Tensor) -> Tensor:
            return self.b(self.between(self.a(x), x))

    class Relu(Net):
        def forward(self, x: Tensor) -> Tensor:
            h = torch.relu(self.a(x))
            return self.b(h)

    class Norm(Net):
        def forward(self, x: Tensor) -> Tensor:
            h = functional.layer_norm(self.a(x), (6,), eps=1e-3)
            return self.b(h)

    class Gelu(Net):
        def forward(self, x: Tensor) -> Tensor:
            h = functional.gelu(self.a(x))
            return self.b(h)

    class Halved(Net):
        def forward(self, x: Tensor) -> Tensor:
            h = torch.tanh(self.a(x)) * 0.5
            return self.b(h)

    class Twice(Net):
        def forward(self, x: Tensor) -> Tensor:
            h = torch.tanh(self.a(x))
            h = torch.relu(h)
            return self.b(h)

    class Softmax(Net):
        def forward(self, x: Tensor) -> Tensor:
            h = torch.softmax(self.a(x), dim=0)
            return self.b(h)

    class Minus(Net):
        def forward(self, x: Tensor) -> Tensor:
            h = self.a(x) - x
            return self.b(h)

    class Flows(Net):
        def forward(self, x: Tensor) -> Tensor:
            h = torch.tanh(self.a(x))
            t = torch.sin(h)
            return self.b(h * t)

    class Stops(Net):
        def forward(self, x: Tensor) -> Tensor:
            h = torch.tanh(self.a(x))
            t = torch.sin(h).detach()
            return self.b(h * t)

    class Hooked(Net):
        def forward(self, x: Tensor) -> Tensor:
            h = torch.tanh(self.a(x))
            h.register_hook(lambda g: g * 0.1)
            return self.b(h)

    class Frozen(Net):
        def __init__(self) -> None:
            super().__init__()
            self.a.weight.requires_grad_(False)

    class BatchNorm(Net):
        def __init__(self) -> None:
            super().__init__()
            self.n = nn.BatchNorm1d(6, affine=False, momentum=0.3)

        def forward(self, x: Tensor) -> Tensor:
            return self.b(self.n(self.a(x)))

    return {
        "activation": Row(
            Relu, TANH, "the activation is tanh, torch uses relu",
            "the activation is relu, JAX uses tanh", "h = torch.tanh(self.a(x))",
        ),
        "eps": Row(
            Norm, port(normalized), "eps is 0.01, torch uses 0.001", "eps is 0.001, JAX uses 0.01",
            "h = functional.layer_norm(self.a(x), (6,), eps=0.01)",
        ),
        "gelu": Row(
            Gelu, port(lambda h, _: jax.nn.gelu(h)),
            "GELU is the tanh approximation, torch uses the exact form",
            "GELU is the exact form, JAX uses the tanh approximation; write approximate='tanh'",
            "h = functional.gelu(self.a(x), approximate='tanh')",
        ),
        "number": Row(
            Halved, port(lambda h, _: 0.25 * jnp.tanh(h)),
            "the number in mul is 0.25, torch uses 0.5",
            "the number in mul is 0.5, JAX uses 0.25", "h = torch.tanh(self.a(x)) * 0.25",
        ),
        "missing_call": Row(
            Twice, TANH, "torch's relu is missing", "torch's relu is extra, JAX has none", "h = h",
        ),
        "axis": Row(
            Softmax, port(lambda h, _: jax.nn.softmax(h, 1)), "softmax is over dim 1, torch uses 0",
            "softmax is over dim 0, JAX uses 1", "h = torch.softmax(self.a(x), dim=1)",
        ),
        "order": Row(
            Minus, port(lambda h, x: x - h), "the operands of sub are swapped",
            "the operands of sub are swapped",
        ),
        "extra_stop": Row(
            Flows, port(stopped), "an extra stop_gradient at test_wording.py",
            "torch does not (rerunning JAX without it, all gradients agree); write "
            ".detach() at test_wording.py:", "t = torch.sin(h).detach()",
        ),
        "missing_stop": Row(
            Stops, port(sines), "all gradients agree); add a stop_gradient at",
            "all gradients agree); leave this stop out", "t = torch.sin(h)",
        ),
        "hook": Row(
            Hooked, TANH, "; wrap the value that torch's b (linear) reads in jaxgrad.hook",
            "; leave the hook out",
        ),
        "frozen": Row(
            Frozen, TANH, "or else put a stop_gradient around the leaf",
            "requires_grad is False only in torch",
        ),
        "momentum": Row(
            BatchNorm, batch_norm, "the momentum is 0.1, torch uses 0.3",
            "the momentum is 0.3, JAX uses 0.1", arguments={"has_state": True},
        ),
        "decay": Row(
            Net, TANH, "the weight decay is missing", "the weight decay is extra, JAX has none",
            arguments={"optimizer": (adam, optax.adam(1e-2))},
        ),
        "rate": Row(
            Net, TANH, "the learning rate is 2 times torch's",
            "the learning rate is 0.5 times JAX's",
            arguments={"optimizer": (sgd, optax.sgd(2e-2))},
        ),
    }  # fmt: skip


def proved(row: Row, **arguments: Any) -> Report:
    """Prove the pair of a row."""
    module = row.module()
    state = module.state_dict().items()
    params = {name: x.numpy() for name, x in state if x.is_floating_point()}
    return prove(module, row.fn, params, INPUTS, **row.arguments, **arguments)


@pytest.mark.parametrize("name", NAMES)
def test_the_cause_blames_the_port(name):
    """The verdict, the place and the numbers are the same, and an edit is one of torch's line."""
    row = rows()[name]
    usual, turned = proved(row), proved(row, reference="jax")
    first, other = usual.first, turned.first

    assert first is not None and other is not None
    assert row.to_jax in first.cause and row.to_torch in other.cause
    assert row.to_torch == row.to_jax or row.to_torch not in first.cause
    same = ("surface", "torch", "jax", "torch_value", "jax_value", "tested")
    assert all(getattr(first, k) == getattr(other, k) for k in same)
    assert [s.verdict for s in usual.surfaces.values()] == [
        s.verdict for s in turned.surfaces.values()
    ]
    assert (other.edit.new.strip() if other.edit else "") == row.edit
    assert "the port" not in "".join(turned.notes) and "your port differs from JAX" in (
        sentence(turned)
    )


def test_the_port_is_named_in_every_part_of_a_report():
    """The sentence, the quoted line and the JSON say which framework has the original."""
    row = rows()["order"]
    usual, turned = proved(row), proved(row, reference="jax")

    assert "in torch at sub, test_wording.py" in sentence(usual)
    assert "in the port at sub, test_wording.py" in sentence(turned)
    assert ", in JAX at test_wording.py" in sentence(turned)
    assert "  JAX code: test_wording.py" in str(usual)
    assert "  torch code: test_wording.py" in str(turned)
    assert turned.first is not None and turned.first.source.endswith(": h = self.a(x) - x")
    assert json.loads(turned.to_json())["reference"] == "jax"
    assert Report.from_dict(turned.to_dict()).reference == "jax"
    assert headline([turned, turned]) == "2 of 2 ports differ from JAX."
    assert headline([usual, turned]) == "2 of 2 ports differ from the original."


def test_a_right_port_to_torch_has_the_gradients_of_jax():
    right = proved(rows()["decay"]._replace(arguments={}), reference="jax")
    assert "your port has JAX's outputs and gradients" in sentence(right)
    assert headline([right, right]).startswith("All 2 ports have JAX's outputs and gradients")


@pytest.mark.parametrize("reference", ["JAX", "pytorch", None, 1, np.array(["jax", "jax"])])
def test_another_reference_is_an_error(reference):
    """The error says which values are allowed, and the one that was given."""
    report = prove(nn.Linear(6, 3), TANH, {}, INPUTS, reference=reference)
    assert report.verdict == "error"
    assert report.text.startswith('reference= needs "torch" or "jax", the framework of the')


@pytest.mark.parametrize(
    ("difference", "to_jax", "to_torch"),
    [
        (Setting("eps", "1", "2"), "eps is 1, torch uses 2", "eps is 2, JAX uses 1"),
        (Setting("eps", "1"), "eps is 1", "in JAX, eps is 1"),
        (Setting("f", "a", "b", "divides by", "divides by"), "f divides by a, torch divides by b",
         "f divides by b, JAX divides by a"),
        (Missing("relu"), "relu is missing", "relu is extra, JAX has none"),
        (Missing("add", "its first operand"), "add is missing, JAX has its first operand",
         "add is extra, JAX has its first operand"),
        (Multiple("value", "3", "1/3"), "JAX's value is torch's times 3",
         "torch's value is JAX's times 1/3"),
        (Order("the parts", (2, 0, 1)), "the parts are in another order: 2, 0, 1",
         "the parts are in another order: 1, 2, 0"),
        (InJax("x is 1"), "x is 1", "in JAX, x is 1"),
        (Rerun(Told("a", "b"), "rerun", "; c", "; d"), "a (rerun); c", "b (rerun); d"),
        (wording.missing_stop(["l1", "l2"], "rerun"), "JAX's gradient also flows through l1 and "
         "l2, torch's does not (rerun); a stop_gradient is missing in each place",
         "torch stops the gradient that flows through l1 and l2 in JAX (rerun)"),
        (wording.missing_stop(["l1"], "rerun", no_grad=True), "JAX's gradient also flows through "
         "l1, torch computes the value under no_grad (rerun); a stop_gradient is missing there",
         "torch computes the value under no_grad, JAX's gradient flows through l1 (rerun)"),
        (wording.extra_stop(["l1"], [], "rerun"), "an extra stop_gradient at l1 (rerun)",
         "JAX stops the gradient at l1, torch does not (rerun); write .detach() in torch"),
        (wording.straight_through(["l1"], "rerun", "x"), "torch passes the gradient straight "
         "through at l1, JAX does not (rerun); write x",
         "torch passes the gradient straight through at l1, JAX does not (rerun)"),
        (wording.NO_DIFFERENCE, "", ""),
    ],
)  # fmt: skip
def test_each_kind_has_a_sentence_for_both_ports(difference, to_jax, to_torch):
    """A kind is data, so that two of them are equal if their facts are."""
    assert (difference.says("torch"), difference.says("jax")) == (to_jax, to_torch)
    assert difference == dataclasses.replace(difference)


def test_a_place_is_filled_into_both_sentences():
    assert Told("a{} is b", "b{} is a").at(" of layer 1") == Told(
        "a of layer 1 is b", "b of layer 1 is a"
    )
    assert Order("the gates{}", (1, 0)).at("").says("torch").startswith("the gates are in")
