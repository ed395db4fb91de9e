"""`jaxgrad.nnx` containers have torch's keys and methods."""

from collections import OrderedDict
from typing import Any

import jax
import jax.numpy as jnp
import pytest
import torch
from flax import nnx

from jaxgrad import nnx as layers
from tests.jaxgrad.nnx._helpers import LayerCase, check_round_trip, check_training, draw, rngs


F64: Any = {"dtype": jnp.float64}
TORCH: Any = {"dtype": torch.float64}
SEQUENTIAL = {
    "numbered": LayerCase(
        lambda: torch.nn.Sequential(
            torch.nn.Linear(3, 4, **TORCH), torch.nn.BatchNorm1d(4, **TORCH), torch.nn.ReLU()
        ),
        lambda: layers.Sequential(
            layers.Linear(3, 4, rngs=rngs(), **F64), layers.BatchNorm1d(4, **F64), jax.nn.relu
        ),
        [draw(5, 3)],
    ),
    "named": LayerCase(
        lambda: torch.nn.Sequential(
            OrderedDict(up=torch.nn.Linear(3, 4, **TORCH), act=torch.nn.PReLU(**TORCH))
        ),
        lambda: layers.Sequential(
            OrderedDict(up=layers.Linear(3, 4, rngs=rngs(), **F64), act=layers.PReLU(**F64))
        ),
        [draw(5, 3)],
    ),
}


def linears(package, count: int) -> list:
    """Return linear layers of different sizes."""
    keys = {} if package is torch.nn else {"rngs": rngs()}
    return [package.Linear(1, n + 1, bias=False, **keys) for n in range(count)]


def keys_of(container) -> list[tuple[str, tuple[int, ...]]]:
    """Return the keys and shapes of a state dict of torch or JAX."""
    torchs = isinstance(container, torch.nn.Module)
    state = container.state_dict() if torchs else layers.state_dict(container)
    return [(key, tuple(x.shape)) for key, x in state.items()]


@pytest.mark.parametrize("name", SEQUENTIAL)
def test_a_sequential_trains_as_in_torch(name):
    """With the state dict of torch's `Sequential`, the model has torch's outputs and gradients."""
    check_training(SEQUENTIAL[name], jit=True)
    check_round_trip(SEQUENTIAL[name])


def test_a_tuple_is_passed_on_as_one_argument():
    """Unlike `flax.nnx.Sequential`, `Sequential` gives the next layer the whole tuple."""
    model = layers.Sequential(layers.MaxPool1d(2, return_indices=True), lambda pair: pair[0])
    assert model(jnp.ones((1, 1, 4))).shape == (1, 1, 2)


EDITS = {
    "append": lambda c, x: c.append(x[0]),
    "extend": lambda c, x: c.extend(x),
    "insert": lambda c, x: c.insert(1, x[0]),
    "set": lambda c, x: c.__setitem__(-1, x[0]),
    "delete": lambda c, x: c.__delitem__(1),
    "delete slice": lambda c, x: c.__delitem__(slice(0, 2)),
    "pop": lambda c, x: c.pop(0),
}


@pytest.mark.parametrize("kind", ["Sequential", "ModuleList"])
@pytest.mark.parametrize("edit", EDITS)
def test_editing_a_sequence_renumbers_its_modules_as_in_torch(kind, edit):
    """After an edit, a sequence has torch's keys in torch's order."""
    made = []
    for package in (torch.nn, layers):
        *first, extra, other = linears(package, 5)
        make = getattr(package, kind)
        container = make(*first) if kind == "Sequential" else make(first)
        EDITS[edit](container, [extra, other])
        made.append(keys_of(container))
    assert made[0] == made[1]


@pytest.mark.parametrize("part", [slice(1, None), slice(None, -1), slice(None, None, 2)])
def test_slices_and_sums_have_torchs_keys(part):
    """A slice of a list is renumbered, one of a `Sequential` keeps its names, as in torch."""
    made = []
    for package in (torch.nn, layers):
        modules = linears(package, 3)
        sequence, several = package.Sequential(*modules), package.ModuleList(modules)
        parts = [sequence[part], several[part], several + several[part], sequence + sequence]
        made.append([keys_of(x) for x in parts] + [len(x) for x in parts])
        assert sequence[-1] is modules[-1] and [*several] == modules
    assert made[0] == made[1]


def test_the_order_of_more_than_ten_modules_survives_flax():
    """flax sorts "10" before "2" when it merges a model; the layers keep their order."""
    model = layers.ModuleList(linears(layers, 12))
    merged = nnx.merge(*nnx.split(model))
    assert keys_of(merged) == keys_of(model)
    assert [x.out_features for x in merged] == list(range(1, 13))
    pairs = layers.ModuleDict({"b": model[0], "a": model[1]})
    assert [*nnx.merge(*nnx.split(pairs))] == ["b", "a"]


def test_a_module_dict_works_as_in_torch():
    """Items are found, replaced, removed and listed in the order of insertion."""
    made = []
    for package in (torch.nn, layers):
        first, second, third = linears(package, 3)
        pairs = package.ModuleDict({"b": first, "a": second})
        pairs["c"] = third
        pairs["b"] = second
        seen = [[*pairs], [*pairs.keys()], len(pairs), "a" in pairs, "x" in pairs, keys_of(pairs)]
        assert pairs.pop("a") is second and [*pairs.values()] == [second, third]
        assert [*pairs.items()] == [("b", second), ("c", third)]
        pairs.update({"d": first})
        del pairs["b"]
        seen += [keys_of(pairs)]
        pairs.clear()
        made.append([*seen, len(pairs)])
    assert made[0] == made[1]


PROBLEMS = {
    "dot": (lambda nn, x: nn.ModuleDict({"a.b": x}), KeyError, r"module name can\'t contain"),
    "empty": (lambda nn, x: nn.ModuleDict({"": x}), KeyError, r"module name can\'t be empty"),
    "taken": (lambda nn, x: nn.ModuleDict({"pop": x}), KeyError, "attribute 'pop' already exists"),
    "missing": (lambda nn, x: nn.ModuleDict({"a": x})["b"], KeyError, "b"),
    "no module": (lambda nn, x: nn.Sequential(x, 3), TypeError, "is not a Module subclass"),
    "name": (lambda nn, x: nn.ModuleDict({3: x}), TypeError, "module name should be a string"),
    "index": (lambda nn, x: nn.ModuleList([x])[1], IndexError, "index 1 is out of range"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_misuse_of_containers_raises_as_in_torch(name):
    """Unusable names, modules and indices raise torch's messages."""
    run, kind, message = PROBLEMS[name]
    for package in (torch.nn, layers):
        with pytest.raises(kind) as error:
            run(package, linears(package, 1)[0])
        assert message in str(error.value)


def test_a_negative_index_is_counted_from_the_end():
    """`insert(-1, ...)` adds before the last module; torch's `ModuleList` loses its keys there."""
    made = []
    for make in (torch.nn.Sequential, layers.Sequential, lambda *x: layers.ModuleList(x)):
        package = torch.nn if make is torch.nn.Sequential else layers
        first, second, third = linears(package, 3)
        made.append(keys_of(make(first, second).insert(-1, third)))
    assert made[0] == made[1] == made[2]


def test_an_index_beyond_the_end_cannot_be_inserted():
    """`insert` raises torch's error for an index that the sequence does not have."""
    with pytest.raises(IndexError, match="Index out of range: 3"):
        layers.Sequential(*linears(layers, 1)).insert(3, jax.nn.relu)


def test_a_list_may_hold_lists():
    """Nested containers give nested keys, as in torch."""
    nested = [
        keys_of(nn.ModuleList([nn.ModuleList(linears(nn, 2)), nn.ModuleDict({})]))
        for nn in (torch.nn, layers)
    ]
    assert nested[0] == nested[1]


def test_deleting_the_eleventh_module_keeps_the_first():
    """`del modules[10]` removes one module, although "1" and "0" are parts of its name."""
    lists = []
    for package in (torch.nn, layers):
        modules = package.ModuleList(linears(package, 12))
        del modules[10]
        lists.append([keys_of(modules), [x.out_features for x in modules]])
    assert lists[0] == lists[1]


wrong: Any = layers  # whose arguments have wrong types
WRONG = {
    "list": (
        lambda x: layers.Sequential([x]),
        r"pass the modules one by one, as in Sequential\(\*mo",
    ),
    "module": (layers.ModuleList, "ModuleList takes a list of modules, but got Linear"),
    "values": (lambda x: wrong.ModuleDict([x]), "a dict of modules, or pairs of a name and a mod"),
    "copies": (
        lambda x: wrong.TransformerEncoder(3, 2),
        "the layer to copy must be a module, but",
    ),
    "cutoffs": (
        lambda x: wrong.AdaptiveLogSoftmaxWithLoss(4, 9, 5, rngs=rngs()),
        "a list of classes, but got 5",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_the_error_about_a_wrong_argument_says_what_to_pass(name):
    """Lists, modules and numbers in the place of one another are named."""
    run, message = WRONG[name]
    with pytest.raises(TypeError, match=message):
        run(*linears(layers, 1))
