"""`prove`: correct ports pass, injected bugs are found, and unusable input gets a clear error."""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from flax import nnx
from jax import lax
from torch import nn

from jaxgrad.parity import prove
from jaxgrad.parity.prove.surfaces import locate_forward
from parity_tests.audits import planted_bugs
from parity_tests.case import identity
from parity_tests.ports.bug import Bug
from tests.jaxgrad.parity.prove._helpers import Net, port, proved


@pytest.mark.parametrize("wrap", [identity, jax.jit, jax.checkpoint], ids=["eager", "jit", "remat"])
def test_a_correct_port_passes(arguments, wrap):
    """A correct port passes all five surfaces, and each has a negative control."""
    tx = (lambda p: torch.optim.AdamW(p, 1e-3), optax.adamw(1e-3, weight_decay=1e-2))
    report = proved(arguments, fn=wrap(port), optimizer=tx, steps=3)
    assert report.check() is report
    assert {s.verdict for s in report.surfaces.values()} == {"pass"}
    assert report.first is None
    for name in ("forward", "backward", "gradients", "updates"):
        assert "injected" in report.surfaces[name].control


@pytest.mark.parametrize(
    ("surface", "where", "cause", "changes"),
    [
        (
            "forward",
            "norm",
            "eps is 1e-06, torch uses 1e-05 (rerunning torch with 1e-06",
            dict(eps=1e-6),
        ),
        ("forward", "inner", "the square weight is transposed", dict(transpose=False)),
        ("structure", "inner.weight", "an extra stop_gradient", dict(stop=lax.stop_gradient)),
    ],
    ids=["eps", "transposed", "stopped"],
)
def test_an_injected_bug_is_found(arguments, surface, where, cause, changes):
    """An injected bug fails the expected surface, with its module and its cause."""
    report = proved(arguments, fn=functools.partial(port, **changes))
    assert report.verdict == "fail"
    assert report.first.surface == surface
    assert report.first.torch == where
    assert cause in report.first.cause
    with pytest.raises(AssertionError, match="first divergence"):
        report.check()


def test_the_users_loss_is_compared(arguments):
    """Ports are compared under the user's pair of losses, and a wrong loss is located."""
    loss = (lambda y: (y**2).mean(), lambda y: jnp.mean(y**2))
    assert proved(arguments, loss=loss).verdict == "pass"
    wrong = (lambda y: (y**2).mean(), lambda y: jnp.sum(y**2))
    report = proved(arguments, loss=wrong)
    assert report.first.surface == "forward" and report.first.torch.startswith("loss")


def test_the_gradient_of_an_input_is_compared(arguments):
    """A port that stops only the gradient of its input fails the gradients surface."""
    report = proved(arguments, fn=lambda p, x: port(p, lax.stop_gradient(x)))
    assert report.verdict == "fail"
    assert report.first.surface == "gradients" and report.first.torch == "input 0"


TRACERS: list[Any] = []


def leaking(p: Any, x: Any) -> Any:
    TRACERS.append(x * 2)
    return port(p, x)


def without(params: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: x for key, x in params.items() if key != name}


BAD = {
    "too many inputs": (lambda g: dict(inputs=g["inputs"] * 2), "called with 2 inputs"),
    "without inputs": (lambda g: dict(inputs=None), "inputs= is missing"),
    "inputs of another shape": (
        lambda g: dict(inputs=(np.ones((5, 3)),)),
        "called with 1 inputs (float64[5, 3]) raised RuntimeError",
    ),
    "NaN in the input": (lambda g: dict(inputs=(np.full((5, 6), np.nan),)), "contains 30 NaN"),
    "integer outputs": (
        lambda g: dict(outputs=(lambda y: y.argmax(-1), lambda y: y)),
        "the outputs are not floating (int64)",
    ),
    "outputs of another shape": (
        lambda g: dict(fn=lambda p, x: port(p, x).T),
        "torch returns shape (5, 2), JAX returns (2, 5)",
    ),
    "another number of outputs": (
        lambda g: dict(fn=lambda p, x: (port(p, x), x)),
        "torch returns 1 outputs (output[5, 2]), JAX returns 2 (0, 1)",
    ),
    "dropout left on": (
        lambda g: dict(module=nn.Sequential(g["module"], nn.Dropout(0.5))),
        "the torch module is not deterministic: dropout is active in 1",
    ),
    "a leaf too many": (
        lambda g: dict(params=g["params"] | {"extra": np.arange(6.0)}),
        "JAX leaf 'extra' [6] holds no torch tensor",
    ),
    "a leaf too few": (
        lambda g: dict(params=without(g["params"], "norm.bias")),
        "raised KeyError",
    ),
    "a bias of other values": (
        lambda g: dict(params=g["params"] | {"inner.bias": g["params"]["inner.bias"] * 1.5}),
        "JAX leaf 'inner.bias' [6] holds no torch tensor; torch's 'inner.bias' has the same size",
    ),
    "NaN in the JAX weights": (
        lambda g: dict(params=g["params"] | {"inner.bias": np.full(6, np.nan)}),
        "the JAX weights are not finite: leaf 'inner.bias' contains NaN",
    ),
    "a tracer that leaks": (lambda g: dict(fn=leaking), "fn is not pure"),
    "numpy on tracers": (
        lambda g: dict(fn=lambda p, x: port(p, x) + np.tanh(x)),
        "fn cannot be traced: it uses numpy",
    ),
    "if on tracers": (
        lambda g: dict(fn=lambda p, x: port(p, x) if x.sum() > 0 else x),
        "fn cannot be traced",
    ),
    "a function instead of a module": (lambda g: dict(module=len), "not a torch.nn.Module"),
    "a number instead of a function": (lambda g: dict(fn=3), "fn is int, which is not callable"),
    "no params": (lambda g: dict(params={}), "params contains no array"),
    "a loss that is not a scalar": (
        lambda g: dict(loss=(lambda y: y, lambda y: y)),
        "the torch loss returned Tensor of shape (5, 2)",
    ),
    "a factory of numbers": (
        lambda g: dict(optimizer=(lambda p: 3, optax.sgd(1.0))),
        "returned int",
    ),
    "a number instead of a transformation": (
        lambda g: dict(optimizer=(lambda p: torch.optim.SGD(p, 1.0), 4)),
        "int is not an optax transformation",
    ),
    "a transformation alone": (
        lambda g: dict(optimizer=optax.adam(1e-3)),
        "optimizer= needs a pair (torch_factory, optax transformation), as in",
    ),
    "steps without an optimizer": (
        lambda g: dict(steps=3),
        "steps=3 needs optimizer=(torch_factory, optax transformation)",
    ),
    "one loss for both": (
        lambda g: dict(loss=sum),
        "loss= needs a pair of functions (torch_loss, jax_loss), got <built-in function sum>",
    ),
    "one pick for both": (
        lambda g: dict(outputs=sum),
        "outputs= needs a pair of functions (torch_pick, jax_pick), got <built-in function sum>",
    ),
    "a seed that is text": (lambda g: dict(seed="a"), "seed= needs an integer from 0 on, got 'a'"),
    "negative steps": (lambda g: dict(steps=-1), "steps= needs an integer from 0 on, got -1"),
    "a random key among the inputs": (
        lambda g: dict(inputs=(*g["inputs"], jax.random.key(0))),
        "inputs= contains a random key, which the torch module cannot take",
    ),
    "an unknown path in weights": (
        lambda g: dict(weights={"inner.weight": "nowhere"}),
        "weights= sends 'inner.weight' to 'nowhere'",
    ),
    "an unknown path in trainable": (
        lambda g: dict(trainable=["zz*"]),
        "trainable= contains 'zz*', which matches no leaf",
    ),
    "all gradients zero": (
        lambda g: dict(loss=(lambda y: (y * 0).sum(), lambda y: jnp.sum(y * 0))),
        "all gradients are zero",
    ),
    "a callback without a derivative": (
        lambda g: dict(
            fn=lambda p, x: jax.pure_callback(
                np.asarray, jax.ShapeDtypeStruct((5, 2), jnp.float64), port(p, x)
            )
        ),
        "Pure callbacks do not support JVP",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_unusable_arguments_give_a_clear_error(arguments, name):
    """Unusable arguments give the verdict "error" and a sentence without a traceback."""
    changes, words = BAD[name]
    report = proved(arguments, **changes(arguments))
    assert report.verdict == "error"
    assert words in report.text
    assert report.first is None and "Traceback" not in str(report)


def test_params_may_be_torch_tensors(arguments):
    """A port whose params are torch's state dict passes, and the tensors do not change."""
    state = arguments["module"].state_dict()
    before = {name: x.clone() for name, x in state.items()}

    assert proved(arguments, params=state).verdict == "pass"
    assert all(torch.equal(x, before[name]) for name, x in state.items())


class DropoutNet(nnx.Module):
    def __init__(self, rngs: nnx.Rngs):
        self.linear, self.dropout = nnx.Linear(6, 2, rngs=rngs), nnx.Dropout(0.3, rngs=rngs)

    def __call__(self, x: Any) -> Any:
        return self.dropout(self.linear(x))


def test_an_nnx_module_may_hold_random_keys():
    """An nnx module with Dropout in eval mode passes, and a wrong one fails."""
    linear, inputs = nn.Linear(6, 2), (np.ones((3, 6)),)
    torch_net = nn.Sequential(linear, nn.Dropout(0.3)).eval()
    net = DropoutNet(nnx.Rngs(0))
    net.eval()
    net.linear.kernel = nnx.Param(jnp.asarray(linear.weight.detach().numpy().T))
    net.linear.bias = nnx.Param(jnp.asarray(linear.bias.detach().numpy()))

    assert prove(torch_net, net, None, inputs).verdict == "pass"
    assert prove(torch_net, lambda net, x: 1.01 * net(x), net, inputs).verdict == "fail"


def test_nan_in_the_torch_weights_is_an_error(arguments):
    """NaN in a torch weight gives an error that names the weight."""
    module = Net()
    module.norm.weight.data[2] = torch.nan
    report = proved(arguments, module=module)
    assert "'norm.weight' of shape (6,) contains 1 NaN" in report.text


def test_a_planted_bug_matches_names_inside_its_module():
    """An injected bug's location pattern matches names inside that module and no others."""
    bug = Bug("b", "forward", "layers.*.norm")
    assert planted_bugs.matches("layers.0.norm", bug.where)
    assert planted_bugs.matches("layers.0.norm.weight", bug.where)
    assert not planted_bugs.matches("layers.0.mlp", bug.where)


def test_the_verdict_survives_an_error_while_locating(arguments, monkeypatch):
    """If locating a divergence raises, the verdict stays "fail" and a note reports the bug."""

    def broken(*args):
        raise KeyError("spot")

    monkeypatch.setattr(locate_forward, "origins", broken)
    report = proved(arguments, fn=functools.partial(port, eps=1e-3))
    assert report.verdict == "fail"
    assert report.notes == (
        "the first place could not be located because of a bug in jaxgrad: KeyError: 'spot'",
    )
    assert "output differs" in str(report)
