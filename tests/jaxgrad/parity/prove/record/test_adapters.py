"""Adapters bring functions and models into one common form."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from flax import linen, nnx

from jaxgrad.parity import ProofError, prove
from jaxgrad.parity.prove.record.adapters import (
    Held,
    JaxFunction,
    Trained,
    as_function,
    in_eval_mode,
    like,
    name_of,
    trainable_mask,
)


X = np.ones((2, 3), np.float32)
PATHS = ["enc/w", "enc/b", "head/w"]


def port(params: Any, x: Any) -> Any:
    return x * params


def test_a_function_stays_a_function():
    """A function and its params are used as they are."""
    assert as_function(port, 2.0) == JaxFunction(port, 2.0)


def test_params_may_be_a_later_argument():
    """The models of some packages take their inputs first and `params=` by name."""

    class Model:
        def __call__(self, x: Any, scale: float = 1.0, params: Any = None) -> Any:
            return scale * x @ params["w"]

    params = {"w": np.eye(2)}
    run = as_function(Model(), params).fn
    np.testing.assert_array_equal(run(params, np.ones((1, 2)), scale=3.0), [[3.0, 3.0]])
    with pytest.raises(TypeError):
        as_function(len, params).fn(params, 2)


def test_an_nnx_module_becomes_a_function_of_its_state():
    """An nnx module becomes a function of a dict of its arrays, with or without a function."""
    module = nnx.Linear(3, 4, rngs=nnx.Rngs(0))
    for model in (as_function(module, None), as_function(lambda m, x: m(x), module)):
        assert sorted(model.params) == ["bias", "kernel"]
        assert np.allclose(model.fn(model.params, X), module(jnp.asarray(X)))
        doubled = {name: 2 * x for name, x in model.params.items()}
        assert np.allclose(model.fn(doubled, X), 2 * module(jnp.asarray(X)))


def test_a_linen_module_is_applied():
    """A linen module is called through its `apply` method."""
    module = linen.Dense(4)

    assert as_function(module, {"params": {}}).fn == module.apply


def test_a_pair_of_model_and_params_is_unpacked():
    """A tuple (fn, params) is unpacked if no params are passed separately."""
    assert as_function((port, 2.0), None) == JaxFunction(port, 2.0)


def test_a_class_is_not_a_model():
    """The error says how to create a model of it."""
    with pytest.raises(ProofError, match=r"the class Linear, not a model: create one, Linear"):
        as_function(nnx.Linear, None)


def test_a_number_is_not_a_model():
    """An object that cannot be called raises an error that suggests a remedy."""
    with pytest.raises(ProofError, match="fn is int, which is not callable: pass a function"):
        as_function(3, None)


@pytest.mark.parametrize(
    ("trainable", "mask"),
    [
        (None, None),
        ("enc/*", [True, True, False]),
        (["enc/w", "head/*"], [True, False, True]),
        (lambda path: path.endswith("b"), [False, True, False]),
        ({"enc": {"w": True, "b": False}, "head": {"w": True}}, [True, False, True]),
    ],
)
def test_trainable_leaves_are_selected(trainable, mask):
    """Leaves are selected by wildcards, by a function or by a tree of bools."""
    assert trainable_mask(trainable, PATHS) == mask


@pytest.mark.parametrize(
    ("trainable", "words"),
    [
        (["dec/*"], "trainable= contains 'dec/\\*', which matches no leaf. The paths are 'enc/w'"),
        ({"enc": {"w": True}}, "trainable= has no entry for the leaf 'enc/b'"),
        (
            lambda path: path.endswith(".b"),
            "torch trains a parameter, but the function trainable= matches no leaf. The paths are "
            "'enc/w', 'enc/b', 'head/w'. A path joins the keys",
        ),
    ],
)
def test_an_incomplete_selection_is_an_error(trainable, words):
    """A wildcard or function without a leaf, and a leaf without a bool, are errors."""
    with pytest.raises(ProofError, match=words):
        trainable_mask(trainable, PATHS)


def test_a_function_may_select_nothing_where_torch_trains_nothing():
    """A module whose parameters are all frozen has a port without trained leaves."""
    assert trainable_mask(lambda path: False, PATHS, trains=False) == [False] * 3


def test_models_are_named_after_their_source():
    """A function is described by its file and line, and any other callable by its class."""
    assert name_of(port) == f"port (test_adapters.py:{port.__code__.co_firstlineno})"
    partial = functools.partial(functools.wraps(port)(functools.partial(port)))
    assert name_of(partial) == name_of(port)


@pytest.mark.parametrize(
    "trainable",
    [{"enc": {"w": 1, "b": True}, "head": {"w": True}}, ["enc/w", 3], [True, False, True]],
    ids=["number", "mixed", "list"],
)
def test_a_tree_that_does_not_fit_is_an_error(trainable):
    """A number is not a bool, and a list of bools has no paths."""
    with pytest.raises(ProofError, match="give a bool for every leaf"):
        trainable_mask(trainable, PATHS)


def test_a_numpy_bool_is_a_bool():
    """A tree may hold numpy's bools; an empty list selects nothing."""
    flags = {"enc": {"w": np.True_, "b": False}, "head": {"w": np.False_}}
    assert trainable_mask(flags, PATHS) == [True, False, False]
    assert trainable_mask([], PATHS) == [False] * 3


def test_linen_returns_the_collections_that_are_not_params():
    """Running statistics are held, and only the collection `params` is trained."""
    module = linen.BatchNorm(use_running_average=False)
    three = np.ones(3, np.float32)
    variables = {"params": {"bias": three, "scale": three},
                 "batch_stats": {"mean": three, "var": three}}  # fmt: skip
    model = as_function(module, variables)
    held = model.fn(variables, X)
    assert isinstance(held, Held) and list(held.state) == ["batch_stats"] and not held.returned
    rule = "flax trains the collection 'params'"
    assert model.trained == Trained(frozenset({"params/bias", "params/scale"}), rule)
    model = as_function(functools.partial(module.apply), variables)
    assert model.trained == Trained(frozenset({"params/bias", "params/scale"}), rule, False)


@pytest.mark.parametrize(
    "params",
    [{"w": {"a": X}, "b": {}}, {"params": {"w": X}}, {"params": {"w": X}, "scale": X}, (X, X)],
)
def test_every_leaf_of_a_tree_without_collections_is_trained(params):
    """The tree of a function tells nothing about training, unless it has linen's collections."""
    assert as_function(port, params).trained is None


def test_an_nnx_state_is_params():
    """A state beside a function is replaced by its arrays, and back."""
    module = nnx.Linear(3, 4, rngs=nnx.Rngs(0))
    graph, state = nnx.split(module)
    model = as_function(lambda s, x: nnx.merge(graph, s)(x), state)
    assert sorted(model.params) == ["bias", "kernel"]
    assert np.allclose(model.fn(model.params, X), module(jnp.asarray(X)))
    assert isinstance(like(state, model.params), nnx.State)
    assert isinstance(like(module, model.params), nnx.Linear)
    assert like({}, 3) == 3


class Counted(nnx.Module):
    def __init__(self) -> None:
        self.w, self.count = nnx.Param(jnp.ones(3)), nnx.BatchStat(jnp.zeros(()))

    def __call__(self, x: Any) -> Any:
        self.count[...] += 1
        return x * self.w


def test_an_nnx_module_that_holds_state_returns_it():
    """The new statistics are returned beside the outputs; only an `nnx.Param` is trained."""
    model = as_function(Counted(), None)
    held = model.fn(model.params, X)
    assert isinstance(held, Held) and float(held.state["count"]) == 1 and not held.returned
    assert model.trained == Trained(frozenset({"w"}), "nnx.grad differentiates nnx.Param")


class Averaging(nnx.Module):
    """A network with the moving average of its weight, which the call changes."""

    def __init__(self) -> None:
        self.w, self.deep = nnx.Param(jnp.ones(3)), nnx.Dict(target=nnx.Param(jnp.zeros(3)))

    def __call__(self, x: Any, still: bool = False) -> Any:
        if not still:
            self.deep.target[...] = 0.5 * self.deep.target[...] + 0.5 * self.w[...]
        return x * self.w


def test_the_params_that_an_nnx_module_changes_are_its_state():
    """A port does not return the params that a call leaves unchanged."""
    model = as_function(Averaging(), None)
    held = model.fn(model.params, X)

    assert isinstance(held, Held) and list(held.state) == ["deep"]
    assert np.array_equal(held.state["deep"]["target"], [0.5, 0.5, 0.5])
    assert not isinstance(model.fn(model.params, X, True), Held)


def test_a_pair_is_unpacked_only_without_params():
    """A tuple beside params, and one of three, are not models."""
    for fn, params in (((port, 2.0), 1.0), ((port, 2.0, 3.0), None)):
        with pytest.raises(ProofError, match="fn is tuple, which is not callable"):
            as_function(fn, params)


def test_the_torch_module_comes_first():
    """A torch module in the place of the port is named; torch's tensors in params are copied."""
    with pytest.raises(ProofError, match="fn is the torch module Linear: pass the torch module"):
        as_function(torch.nn.Linear(2, 2), None)
    params = as_function(port, {"w": torch.ones(2), "s": "text"}).params
    assert isinstance(params["w"], np.ndarray) and params["s"] == "text"


class Stateful(eqx.Module):
    norm: eqx.nn.BatchNorm

    def __call__(self, x: Any, state: Any) -> Any:
        return self.norm(x, state)


def test_a_state_of_equinox_is_held():
    """A function that returns a pair with the state holds it; the module alone is refused."""
    model, state = eqx.nn.make_with_state(lambda: Stateful(eqx.nn.BatchNorm(3, "b", mode="ema")))()
    for fn, params in ((model, None), (model, state)):
        with pytest.raises(ProofError, match="takes its state as an argument"):
            as_function(fn, params)
    cases: Any = [((1, state), True), ([1, state], True), ((1, 2), False), ((1, 2, state), False)]
    for out, held in cases:
        found = as_function(lambda p, x, out=out: out, (model, state)).fn((model, state), X)
        assert isinstance(found, Held) is held and (not held or found == Held(1, state, True))
    trained = as_function(port, (model, state)).trained
    assert trained is not None and not trained.declared
    assert {"0/norm/weight", "0/norm/bias"} <= trained.paths
    assert not any(path.startswith("1/") for path in trained.paths)


class EquinoxNet(eqx.Module):
    fc: eqx.nn.Linear

    def __call__(self, x: Any) -> Any:
        return jax.vmap(self.fc)(x)


class EquinoxLoss(eqx.Module):
    def __call__(self, net: Any, x: Any) -> Any:
        return net(x) * 2


def test_an_equinox_module_is_called_with_the_params_of_its_class():
    """A converter may return another module of the same class; another class is an argument."""
    torch.manual_seed(0)
    module = torch.nn.Linear(3, 2)
    net = EquinoxNet(eqx.nn.Linear(3, 2, key=jax.random.key(0)))

    def convert(state: Any) -> Any:
        new = [jnp.asarray(state[name]) for name in ("weight", "bias")]
        return eqx.tree_at(lambda n: [n.fc.weight, n.fc.bias], net, new)

    right = convert({name: x.numpy() for name, x in module.state_dict().items()})
    assert prove(module, net, None, (X,), weights=convert).verdict == "pass"
    assert prove(module, net, right, (X,)).verdict == "pass"
    assert prove(module, EquinoxLoss(), right, (X,)).first.surface == "forward"  # pyright: ignore[reportOptionalMemberAccess]
    assert prove(module, net, net, (X,)).verdict == "error"  # other weights


NONE: Any = (None, None)


def test_models_are_switched_to_eval_mode():
    """nnx has `.eval()` and equinox `inference_mode`; a tree of arrays has no mode."""
    module = nnx.Dropout(0.5, rngs=nnx.Rngs(0))
    fn, params = in_eval_mode(module, None) or NONE
    assert fn.deterministic and params is None and not module.deterministic
    fn, params = in_eval_mode(port, module) or NONE
    assert fn is port and params.deterministic
    drop = eqx.nn.Dropout(0.5)
    fn, params = in_eval_mode(port, (drop, 1)) or NONE
    assert fn is port and params[0].inference and not drop.inference
    fn, params = in_eval_mode(drop, None) or NONE
    assert fn.inference and params is None
    for model in ((port, {"w": X}), (nnx.Linear(2, 2, rngs=nnx.Rngs(0)), None),
                  (eqx.nn.Linear(2, 2, key=jax.random.key(0)), None)):  # fmt: skip
        assert in_eval_mode(*model) is None
