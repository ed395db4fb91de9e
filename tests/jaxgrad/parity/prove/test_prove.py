"""`prove`: correct ports pass, injected bugs are found, and unusable input gets a clear error."""

import functools
import importlib
from types import SimpleNamespace
from typing import Any

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from flax import nnx
from jax import lax
from torch import nn

import jaxgrad
from jaxgrad.parity import Finding, Report, Surface, prove
from jaxgrad.parity.prove import clock as clocks
from jaxgrad.parity.prove import evidence
from jaxgrad.parity.prove.causes import forward as forward_causes
from jaxgrad.parity.prove.causes import updates as update_causes
from jaxgrad.parity.prove.locate import forward as locate_forward
from jaxgrad.parity.prove.record.torch_side.values import Call
from jaxgrad.parity.prove.report import Judgement
from jaxgrad.parity.prove.request import Request
from jaxgrad.parity.prove.surfaces import forward, structure
from parity_tests.audits import planted_bugs
from parity_tests.case import identity
from tests.jaxgrad.parity.prove._helpers import Net, arrays, port, proved


proving: Any = importlib.import_module("jaxgrad.parity.prove.prove")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("wrap", [identity, jax.jit, jax.checkpoint], ids=["eager", "jit", "remat"])
def test_a_correct_port_passes(arguments, wrap):
    """A correct port passes; cotangents inside it are not judged; each check has its control."""
    tx = (lambda p: torch.optim.AdamW(p, 1e-3), optax.adamw(1e-3, weight_decay=1e-2))
    report = proved(arguments, fn=wrap(port), optimizer=tx, steps=3)
    assert report.check() is report
    open_surfaces = [s.name for s in report.surfaces.values() if s.verdict != "pass"]
    assert open_surfaces == ["backward"] and report.surfaces["backward"].verdict == "not judged"
    assert report.first is None
    for name in ("forward", "backward", "gradients", "updates"):
        assert "injected" in report.surfaces[name].control


@pytest.mark.sampled(3)
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


def linear(p: Any, x: Any) -> Any:
    return x @ p["weight"].T + p["bias"]


def broken(*args: Any, **kwargs: Any) -> Any:
    raise OSError("no room")


def broken_hook(parameters: Any) -> Any:
    optimizer = torch.optim.SGD(parameters, 0.1)
    optimizer.register_step_pre_hook(broken)
    return optimizer


def without(params: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: x for key, x in params.items() if key != name}


BAD = {
    "too many inputs": (
        lambda g: dict(inputs=g["inputs"] * 2),
        "forward takes (x), and inputs= needs a tuple with an entry for each",
    ),
    "without inputs": (lambda g: dict(inputs=None), "inputs= is missing"),
    "inputs of another shape": (
        lambda g: dict(inputs=(np.ones((5, 3)),)),
        "called with 1 input (float64[5, 3]) raised RuntimeError",
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
        "torch returns 1 output (output[5, 2]), JAX returns 2 (0, 1)",
    ),
    "a leaf too many": (
        lambda g: dict(
            params=g["params"] | {"extra": np.arange(6.0)},
            fn=lambda p, x: g["fn"](p, x) + p["extra"].sum(),
        ),
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
    "numpy on tracers": (
        lambda g: dict(fn=lambda p, x: port(p, x) + np.tanh(x)),
        "fn cannot be traced: it uses numpy",
    ),
    "torch in the port": (
        lambda g: dict(fn=lambda p, x: torch.tanh(x)),
        "with a JAX array: pass the JAX port, which calls jax.numpy there",
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
    "an optimizer in the wrong order": (
        lambda g: dict(optimizer=(optax.sgd(1.0), lambda p: torch.optim.SGD(p, 1.0))),
        "optimizer=: the pair is in the wrong order: pass torch's factory first",
    ),
    "a number instead of a transformation": (
        lambda g: dict(optimizer=(lambda p: torch.optim.SGD(p, 1.0), 4)),
        "int is not an optax transformation",
    ),
    "a transformation that is not called": (
        lambda g: dict(optimizer=(lambda p: torch.optim.SGD(p, 1.0), optax.sgd)),
        "function is not an optax transformation; call it: sgd(...)",
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
    "negative steps": (lambda g: dict(steps=-1), "steps= needs a positive integer, got -1"),
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
    "a torch module as the port": (
        lambda g: dict(fn=g["module"]),
        "fn is the torch module Net: pass the torch module first and its JAX port second",
    ),
    "a class instead of a module": (
        lambda g: dict(module=Net),
        "the first argument is the class Net, not a torch.nn.Module; create one: Net(...)",
    ),
    "the port in place of the module": (
        lambda g: dict(module=g["fn"], fn=g["module"]),
        "the first argument is a function, not a torch.nn.Module; call prove(module, fn,",
    ),
    "the path of no dump": (lambda g: dict(module="nowhere"), "the dump 'nowhere' does not exist"),
    "text as inputs": (lambda g: dict(inputs="abc"), "inputs= needs a tuple of numpy arrays"),
    "inputs by number": (lambda g: dict(inputs={0: np.ones(3)}), "or a dict from argument names"),
    "inputs without arrays": (
        lambda g: dict(inputs=([[1.0], [2.0, 3.0]],)),
        "called with no array (inputs[0] is a list; pass numpy arrays) raised TypeError",
    ),
    "objects as inputs": (
        lambda g: dict(inputs=(np.array([[1], [2, 3]], object),)),
        "input 0 of shape (2,) has dtype object, which holds no numbers",
    ),
    "text as params": (
        lambda g: dict(params={"inner.weight": "abc"}),
        "pass the port's parameters, or weights= (params is dict)",
    ),
    "text arrays as params": (
        lambda g: dict(params=g["params"] | {"name": np.array(["abc"])}),
        "params: leaf 'name' holds no numbers",
    ),
    "a number as weights": (lambda g: dict(weights=3), "weights= needs a converter"),
    "a converter that raises": (
        lambda g: dict(weights=broken),
        "weights=: the converter raised OSError at",
    ),
    "a converter that returns nothing": (
        lambda g: dict(weights=lambda state: None),
        "params contains no array: pass the port's parameters, or weights= (weights= returned",
    ),
    "a function in weights that raises": (
        lambda g: dict(weights={"inner.weight": ("inner.weight", broken)}),
        "weights=: the function for 'inner.weight' raised OSError at",
    ),
    "three things for a name in weights": (
        lambda g: dict(weights={"inner.weight": ("a", "b", "c")}),
        "weights= has ('a', 'b', 'c') for 'inner.weight'",
    ),
    "a torch pick that raises": (
        lambda g: dict(outputs=(broken, None)),
        "outputs=: torch_pick raised OSError at",
    ),
    "a JAX pick that raises": (
        lambda g: dict(outputs=(None, broken)),
        "outputs=: jax_pick raised OSError at",
    ),
    "a torch pick that returns nothing": (
        lambda g: dict(outputs=(lambda y: None, None)),
        "outputs=: torch_pick returned no tensor",
    ),
    "a JAX pick that returns nothing": (
        lambda g: dict(outputs=(None, lambda y: None)),
        "outputs=: jax_pick returns no floating output",
    ),
    "a torch loss that returns a pair": (
        lambda g: dict(loss=(lambda y: (y.sum(), y), jnp.sum)),
        "loss=: the torch loss returned tuple; it must return one number",
    ),
    "a JAX loss that returns a pair": (
        lambda g: dict(loss=(lambda y: y.sum(), lambda y: (y.sum(), y))),
        "loss=: the JAX loss returned a tuple of length 2; it must return one number",
    ),
    "a JAX loss that raises": (
        lambda g: dict(loss=(lambda y: y.sum(), broken)),
        "loss=: jax_loss raised OSError at",
    ),
    "a selection that raises": (
        lambda g: dict(trainable=broken),
        "trainable=: the function of the path raised OSError at",
    ),
    "text in the tree of trainable": (
        lambda g: dict(trainable=dict.fromkeys(g["params"], "yes")),
        "trainable= has 'yes' for the leaf 'head.bias'",
    ),
    "a factory that is a number": (
        lambda g: dict(optimizer=(3, optax.sgd(1.0))),
        "optimizer=: the torch factory is int, which is not callable",
    ),
    "a torch hook that raises": (
        lambda g: dict(optimizer=(broken_hook, optax.sgd(0.1))),
        "optimizer=: the step of torch's SGD raised OSError at",
    ),
    "an optimizer that needs a closure": (
        lambda g: dict(optimizer=(torch.optim.LBFGS, optax.sgd(0.1))),
        "optimizer=: the step of torch's LBFGS raised TypeError",
    ),
    "labels of parameters that do not exist": (
        lambda g: dict(
            optimizer=(
                lambda p: torch.optim.SGD(p, 0.1),
                jaxgrad.optim.param_groups(jaxgrad.optim.sgd, [{}], {"nope": 0}, lr=0.1),
            )
        ),
        "optimizer=: the init of the optax transformation raised",
    ),
    "no pair for has_state": (
        lambda g: dict(has_state=True),
        "has_state=True needs fn to return (outputs, new_state), but it returned an array of shape "
        "(5, 2): return the new state too, or leave out has_state",
    ),
    "text for has_state": (lambda g: dict(has_state="no"), "has_state= needs True or False"),
    "a progress that raises": (lambda g: dict(progress=broken), "progress= raised OSError at"),
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


@pytest.mark.parametrize(
    "name",
    [
        "a factory that is a number",
        "a factory of numbers",
        "a number instead of a transformation",
        "an optimizer in the wrong order",
    ],
)
def test_an_unusable_optimizer_is_reported_before_the_models_run(arguments, name):
    """The error of a factory or a transformation does not wait for the proof of the forward."""
    report = proved(arguments, **BAD[name][0](arguments))

    assert not set(report.seconds) & {"trace", "jax forward", "updates"}


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from([len, int, object(), broken, b"", np.float32(1), np.array(["a"])])
)
NONSENSE = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.sampled_from(["weight", "bias", 0]), inner, max_size=2)
    ),
    max_leaves=4,
)
# The words of which an error text contains one if the argument of this name is nonsense.
NAMED = {
    "module": ["first argument", "dump"],
    "fn": ["fn"],
    "params": ["params", "fn", "weights"],
    "inputs": ["input"],
    "also": ["also"],
    "weights": ["weights"],
    "outputs": ["output"],
    "loss": ["loss"],
    "trainable": ["trainable"],
    "optimizer": ["optimizer"],
    "steps": ["steps"],
    "has_state": ["has_state"],
    "seed": ["seed"],
    "progress": ["progress"],
    "time_limit": ["time_limit"],
}


@hypothesis.settings(max_examples=100, deadline=None, derandomize=True)
@hypothesis.given(st.sampled_from(sorted(NAMED)), NONSENSE)
def test_nonsense_never_raises(name, nonsense):
    """Nonsense as any argument gives a report, whose error text names the argument."""
    module = nn.Linear(2, 1)
    arguments = dict(module=module, fn=linear, params=arrays(module), inputs=(np.ones((2, 2)),))

    report = proved(arguments, **{name: nonsense})

    assert isinstance(report, Report)
    if report.verdict == "error":
        assert "bug in jaxgrad" not in report.text
        assert any(word in report.text for word in NAMED[name]), report.text


def test_a_bug_of_jaxgrad_is_reported(arguments, monkeypatch):
    """An exception that jaxgrad itself raises is reported with its type, place and text."""
    monkeypatch.setattr(evidence, "Flow", broken)
    report = proved(arguments)
    assert report.verdict == "error"
    assert report.text.startswith(
        "this is a bug in jaxgrad, not in the port: OSError at jaxgrad/parity/prove/evidence.py:"
    )
    assert report.text.endswith(": no room. Please report it")


TRACERS: list[Any] = []


def leaking(p: Any, x: Any) -> Any:
    TRACERS.append(x * 2)
    return port(p, x)


def test_a_port_may_keep_traced_values(arguments):
    """A port that keeps a traced value is judged all the same, and a note says that it does."""
    right = proved(arguments, fn=leaking)
    wrong = proved(arguments, fn=lambda p, x: 1.01 * leaking(p, x))
    assert right.verdict == "pass" and wrong.verdict == "fail"
    assert all("keeps a traced value after it returns" in r.notes[0] for r in (right, wrong))


def test_a_port_with_constant_outputs_fails(arguments):
    """A port whose outputs depend on nothing fails, and no place in it can be named."""
    report = proved(arguments, fn=lambda p, x: np.ones((5, 2)))
    assert report.verdict == "fail" and not report.notes
    assert report.surfaces["forward"].findings[0].jax == "the output, a constant"


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
    place = "layers.*.norm"
    assert planted_bugs.matches("layers.0.norm", place)
    assert planted_bugs.matches("layers.0.norm.weight", place)
    assert not planted_bugs.matches("layers.0.mlp", place)
    assert planted_bugs.matches("(root)", "")
    assert not planted_bugs.matches("loss", "")


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


def test_an_error_in_the_search_for_a_cause_keeps_the_place(arguments, monkeypatch):
    """The place of a wrong output is that of a proof that looks for no cause."""

    def broken(*args):
        raise KeyError("spot")

    known = proved(arguments, fn=functools.partial(port, eps=1e-3)).first
    monkeypatch.setattr(forward_causes, "guesses", broken)
    report = proved(arguments, fn=functools.partial(port, eps=1e-3))

    assert known is not None and known.tested and report.first is not None
    places = [(f.torch, f.op) for f in (known, report.first)]
    assert places == [("norm", "layer_norm")] * 2
    assert report.first.cause == ""
    assert report.notes == ("the cause is not known because of a bug in jaxgrad: KeyError: 'spot'",)


def test_an_error_in_the_search_for_a_cause_of_wrong_updates_is_reported(arguments, monkeypatch):
    """The report shows the error of the search as its observation."""

    def broken(*args):
        raise KeyError("spot")

    monkeypatch.setattr(update_causes.Search, "guess", broken)
    pair = (lambda p: torch.optim.SGD(p, 0.1), optax.sgd(0.2))
    first = proved(arguments, optimizer=pair).first

    assert first is not None and not first.tested
    assert first.cause == "the cause is not known because of a bug in jaxgrad: KeyError: 'spot'"


def judged_without_forward(monkeypatch: pytest.MonkeyPatch, **request: Any) -> dict[str, str]:
    """Return the text of each surface after a failed forward pass."""
    judged = Judgement(Surface("structure", "pass", "maps"))
    failed = Judgement(Surface("forward", "fail", "differs"))
    monkeypatch.setattr(structure, "surface", lambda *_, **__: judged)
    monkeypatch.setattr(forward, "surface", lambda *_: failed)
    evidence: Any = None
    judgements: dict[str, Judgement] = {}
    proving._judge_surfaces(evidence, Request(None, None, **request), judgements)
    assert {j.surface.verdict for j in list(judgements.values())[2:]} == {"not judged"}
    return {name: judgement.surface.text for name, judgement in judgements.items()}


@pytest.mark.parametrize(
    ("request_", "asked"),
    [({}, False), ({"optimizer": (None, None)}, True), ({"has_state": True}, True)],
    ids=["neither", "optimizer", "state"],
)
def test_later_surfaces_are_skipped_after_a_failed_forward_pass(monkeypatch, request_, asked):
    """The updates are skipped like the others, unless nobody asked for them."""
    texts = judged_without_forward(monkeypatch, **request_)
    skipped = "the forward pass already differs"
    assert texts["gradients"] == texts["backward"] == texts["precision"] == skipped
    assert (texts["updates"] == skipped) is asked


@pytest.mark.parametrize(
    ("first", "before"),
    [(None, ()), (("forward", "c"), ("a",)), (("gradients", "c"), ()), (("forward", "x"), ()),
     (("forward", "a"), ())],
)  # fmt: skip
def test_the_modules_before_a_forward_difference_matched(first, before):
    """Modules that ran before the difference and are visible are listed, once each."""
    names = ("a", "b", "a", "d", "", "c")
    calls = [Call(n, (), () if n == "d" else (k,), 0, 0) for k, n in enumerate(names)]
    evidence: Any = SimpleNamespace(runs=[SimpleNamespace(calls=calls)], not_visible=["b"])
    finding = first and Finding(first[0], first[1], "x", "differs")
    assert proving._matched_before(evidence, finding) == before


def test_a_proof_is_named_after_both_models(tmp_path):
    """A dump is named by its file, a module by its class."""
    assert proving._name(nn.Linear(1, 1), nn.Linear) == "Linear | type"
    assert proving._name(tmp_path / "net.npz", nn.Linear) == "net.npz | type"
    assert proving._name("runs/net.npz", nn.Linear) == "net.npz | type"


class Hands:
    """A clock that jumps ahead when a step begins."""

    def __init__(self, step: str):
        self.time, self.step, self.names = 0.0, step, []

    def __call__(self) -> float:
        return self.time

    def show(self, name: str) -> None:
        self.names.append(name)
        self.time += 100.0 * (name == self.step)


@pytest.mark.parametrize(
    ("step", "changes", "verdict", "ended"),
    [
        ("torch", {}, "inconclusive",
         "structure, forward, backward, gradients, updates and precision were"),
        ("jax backward", {}, "inconclusive", "gradients, updates and precision were"),
        ("updates", {}, "inconclusive", "precision was"),
        ("jax backward", dict(fn=functools.partial(port, eps=1e-3)), "fail",
         "backward, gradients, updates and precision were"),
        ("precision", {}, "pass", ""),
    ],
)  # fmt: skip
def test_a_time_limit_ends_a_proof(arguments, monkeypatch, step, changes, verdict, ended):
    """The report has what is known by then: a surface that failed, or that nothing is decided."""
    hands = Hands(step)
    monkeypatch.setattr(proving, "Clock", functools.partial(proving.Clock, now=hands))
    report = proved(arguments, progress=hands.show, time_limit=60, **changes)

    assert report.verdict == verdict
    unjudged = [s.name for s in report.surfaces.values() if s.text == "time limit"]
    if ended:
        names = ended.rpartition(" ")[0].replace(" and ", ", ").split(", ")
        assert set(unjudged) == set(names) | ({"backward"} if "gradients" in names else set())
        assert report.text.startswith("The time limit of 60 s ended the proof before ")
        assert report.text.endswith(f"{ended} judged.")
        assert "time limit" in str(report)
        assert report.first is None or report.first.edit is None, "it is not proved"
    else:
        assert unjudged == [] and not report.text


def test_a_time_limit_keeps_a_failure(arguments, monkeypatch):
    """A surface that failed stays so, though its cause was not found in time."""
    hands = Hands("locate")
    monkeypatch.setattr(proving, "Clock", functools.partial(proving.Clock, now=hands))
    pair = (lambda p: torch.optim.SGD(p, 0.1), optax.sgd(0.1, momentum=0.5))
    report = proved(arguments, optimizer=pair, steps=2, progress=hands.show, time_limit=60)

    assert report.verdict == "fail" and report.surfaces["updates"].verdict == "fail"
    assert report.first is not None and report.first.torch == "inner.weight"
    assert report.text == "The time limit of 60 s ended the proof before precision was judged."
    wrong = proved(arguments, fn=functools.partial(port, eps=1e-3), progress=hands.show,
                   time_limit=60)  # fmt: skip
    assert wrong.verdict == "fail" and wrong.first.surface == "forward"


def test_a_search_that_takes_too_long_is_stopped_and_noted(arguments, monkeypatch):
    """The report has the place of the difference, and says that the search for causes ended."""
    monkeypatch.setattr(clocks, "LEAST", 10.0)
    hands, tried = Hands(""), []

    def show(name: str) -> None:
        if name.startswith("locate: "):
            tried.append(name)
            hands.time += 6.0

    monkeypatch.setattr(proving, "Clock", functools.partial(proving.Clock, computed=hands))
    pair = (lambda p: torch.optim.SGD(p, 0.1), optax.sgd(0.1, momentum=0.5))
    report = proved(arguments, optimizer=pair, steps=2, progress=show)

    assert report.verdict == "fail" and report.first is not None and len(tried) == 2
    assert report.first.text.startswith("the weight's change after step 2 is off by")
    assert report.first.torch == "inner.weight" and not report.first.tested
    assert report.notes[-1].startswith("the search for causes ended after 12 s of CPU time")


RUNS: list[int] = []  # the numbers of the runs that are left; a proof rewinds the module itself


class Interrupting(Net):
    """A module that is interrupted in one of its runs, as by Ctrl-C."""

    def forward(self, x):
        if RUNS and RUNS.pop() == 0:
            raise KeyboardInterrupt
        return super().forward(x)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "at", [1, 2, 3, 5, 8, 13, 21, "jax", *(f"step {k}" for k in range(0, 18, 3))]
)
def test_an_interrupt_leaves_the_module_as_it_was(at):
    """Whatever a proof does when it is interrupted, the module, torch and JAX are restored."""
    torch.manual_seed(0)
    module = Interrupting()
    params, inputs = arrays(module), (np.random.default_rng(0).standard_normal((5, 6)),)
    before = {name: (x, x.dtype, x.detach().clone()) for name, x in module.named_parameters()}
    attributes, random = set(vars(module)), torch.get_rng_state()
    steps = iter(range(99))
    optimizer = (lambda p: torch.optim.AdamW(p, 1e-3), optax.adamw(1e-3, weight_decay=1e-3))

    def progress(name: str) -> None:
        if f"step {next(steps)}" == at:
            raise KeyboardInterrupt

    def fn(p: Any, x: Any) -> Any:
        if at == "jax":
            raise KeyboardInterrupt
        return port(p, x)

    RUNS[:] = range(at) if isinstance(at, int) else []
    options: Any = dict(optimizer=optimizer, steps=2)
    with pytest.raises(KeyboardInterrupt):
        prove(module, fn, params, inputs, progress=progress, **options)

    assert not RUNS and set(vars(module)) == attributes
    assert not module._forward_hooks and not module._backward_hooks
    for name, x in module.named_parameters():
        same, dtype, data = before[name]
        assert x is same and x.dtype == dtype and x.grad is None
        torch.testing.assert_close(x.detach(), data, rtol=0, atol=0)
    assert torch.get_default_dtype() == torch.float32
    assert torch.equal(torch.get_rng_state(), random)
    assert torch.nn.utils.clip_grad_norm_ is torch.nn.utils.clip_grad.clip_grad_norm_
    assert prove(module, port, params, inputs).verdict == "pass"


class Damped(torch.autograd.Function):
    """Multiplies the gradient alone."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        return 0.1 * grads[0]


class DampedNet(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.norm, self.b = (
            torch.nn.Linear(4, 5), torch.nn.LayerNorm(5), torch.nn.Linear(5, 2)
        )  # fmt: skip

    def forward(self, x: Any) -> Any:
        return self.b(Damped.apply(self.norm(torch.tanh(self.a(x)))))


def test_the_module_is_the_users_after_two_mistakes():
    """With a wrong eps and a lost Function, torch runs until the findings are marked."""

    def port(p: Any, x: Any) -> Any:
        h = jnp.tanh(x @ p["a.weight"].T + p["a.bias"])
        scale = jnp.sqrt(h.var(-1, keepdims=True) + 1e-6)
        h = (h - h.mean(-1, keepdims=True)) / scale * p["norm.weight"] + p["norm.bias"]
        return h @ p["b.weight"].T + p["b.bias"]

    torch.manual_seed(0)
    module = DampedNet()
    before = {name: x.clone() for name, x in module.state_dict().items()}
    report = prove(module, port, arrays(module), (np.eye(4),))

    assert report.verdict == "fail"
    for name, x in module.state_dict().items():
        assert x.dtype == torch.float32 and torch.equal(x, before[name]), name
