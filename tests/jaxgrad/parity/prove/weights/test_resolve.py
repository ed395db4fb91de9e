"""A module's weight map is given by the user or inferred, and mistakes raise errors."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity import ProofError, prove
from jaxgrad.parity.prove.weights.resolve import Returned, _is_dyadic, _random, weight_map


W = np.random.default_rng(0).standard_normal((3, 2)).astype(np.float32).astype(np.float64)


class Side:
    """A torch model with a single weight."""

    def __init__(self):
        self.state = {"fc.weight": W, "steps": np.array(3)}
        self.flags = {"fc.weight": True}
        self.names = {"fc.weight": "fc.weight"}

    def state_dict(self, values: dict[str, Any]) -> dict[str, Any]:
        return dict(values)


def resolved(params: Any, weights: Any = None) -> Any:
    side: Any = Side()
    return weight_map(side, lambda params, x: x, params, weights)


def test_a_transposed_weight_is_inferred():
    """A transposed weight is inferred, and integer buffers are ignored."""
    params, mapped = resolved({"kernel": W.T})

    assert list(params) == ["kernel"]
    assert mapped.names_of(0) == ["fc.weight"] and list(mapped.tensors) == ["fc.weight"]


def test_a_converter_makes_the_params():
    """A converter produces the params, and the map holds torch's own values."""
    params, mapped = resolved(None, lambda state: {"kernel": state["fc.weight"].T})

    assert params["kernel"].shape == (2, 3)
    assert np.array_equal(mapped.to_jax(mapped.tensors)[0], W.T)


def test_a_mapping_is_read():
    """A dict from torch names to paths and axes is accepted as a weight map."""
    _, mapped = resolved({"kernel": W.T}, {"fc.weight": ("kernel", (1, 0))})

    assert np.array_equal(mapped.to_jax(mapped.tensors)[0], W.T)


@pytest.mark.parametrize(
    ("params", "weights", "words"),
    [
        ({}, None, "params contains no array"),
        ({"w": np.full(2, np.nan)}, None, "leaf 'w' contains NaN"),
        (
            {"kernel": W.T + 1e-3},
            None,
            "'kernel' .2, 3. holds no torch tensor; torch's 'fc.weight' has the same size but",
        ),
        (
            None,
            lambda state: {"x": np.sort(np.array(state["fc.weight"].tolist()))},
            "weights= computes leaf 'x' in a way that is not linear",
        ),
        (
            None,
            lambda state: {"fc": state["weight"]},
            "weights= looked up 'weight', but the state_dict has only",
        ),
    ],
)
def test_an_unknown_map_is_explained(params, weights, words):
    """Params and converters that do not fit the module give an explanatory error."""
    with pytest.raises(ProofError, match=words):
        resolved(params, weights)


def test_a_converter_may_not_change_between_calls():
    """A converter that returns other values in each call fails."""
    calls = []

    def convert(state: Any) -> Any:
        calls.append(None)
        return {"x": state["fc.weight"] * len(calls)}

    with pytest.raises(ProofError, match="weights= computes leaf 'x' in a way that is not linear"):
        resolved(None, convert)


def test_a_converter_may_compute_new_values():
    """Linear leaves become pieces, constants stay, and other leaves have a rule."""

    def convert(state: Any) -> Any:
        w = state["fc.weight"]
        return {"half": w / 2, "norm": (w**2).sum(), "table": np.arange(3.0)}

    _, mapped = resolved(None, convert)
    half, norm, table = mapped.to_jax({"fc.weight": 2 * W})

    assert np.array_equal(half, W) and np.array_equal(table, np.arange(3.0))
    assert np.allclose(norm, np.sum(4 * W**2))
    grads = mapped.to_torch([np.ones((3, 2)), np.ones(()), None], {"fc.weight": 2 * W})
    assert np.allclose(grads["fc.weight"], 0.5 + 4 * W)
    assert mapped.names_of(1) == ["fc.weight"] and mapped.leaves_of("fc.weight") == [0, 1]


@pytest.mark.parametrize("params", [{}, None])
@pytest.mark.parametrize("power", [1, 2])
def test_a_loss_without_weights_is_proved(params, power):
    """A module without parameters needs no params, and its port's mistakes are found."""
    inputs = np.array([1.0, 0.5, 2.0]), np.array([0.3, 0.6, -1.0])
    port = lambda _, x, y: (abs(x - y) ** power).mean()  # noqa: E731
    report = prove(nn.L1Loss(), port, params, inputs)
    assert report.verdict == ("pass" if power == 1 else "fail"), report


def test_a_converter_may_make_complex_params():
    """Complex weights are converted with complex test values, and compared."""

    class Rotation(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.turn = nn.Parameter(torch.tensor([1 + 2j, 3 - 1j]))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x * self.turn).real

    def verdict(port: Any) -> str:
        def converter(state: Any) -> dict[str, Any]:
            return {"turn": state["turn"]}

        return prove(Rotation(), port, None, (np.ones((3, 2)),), weights=converter).verdict

    assert verdict(lambda p, x: jnp.real(x * p["turn"])) == "pass"
    assert verdict(lambda p, x: jnp.imag(x * p["turn"])) == "fail"


class Wide(Side):
    """A torch model with many weights, a buffer, and a copy of a weight."""

    def __init__(self, count: int = 9):
        rng = np.random.default_rng(1)
        self.state = {f"fc{n}": rng.standard_normal(2 + n) for n in range(count)}
        self.flags = dict.fromkeys(self.state, True)
        self.state |= {"mean": rng.standard_normal(20), "copy": self.state["fc0"].copy()}
        self.flags |= {"copy": True}
        self.names = {name: name for name in self.state}


def test_at_most_eight_of_each_are_listed():
    """The message names eight of nine unmatched leaves and weights, and no buffer."""
    params = {f"p{n}": np.linspace(3, 4, 3 + n) for n in range(9)}
    with pytest.raises(ProofError) as error:
        weight_map(Wide(), lambda params, x: x, params, None)  # pyright: ignore[reportArgumentType]
    lines = str(error.value).splitlines()
    leaves = [line for line in lines if line.startswith("  JAX leaf")]
    tensors = [line for line in lines if line.startswith("  torch's") and "in no JAX leaf" in line]
    assert len(leaves) == len(tensors) == 8
    assert "  and 1 more JAX leaves hold no torch tensor" in lines
    assert any(x.endswith(" more of torch's parameters are in no JAX leaf") for x in lines)
    assert not any("mean" in line for line in tensors)


def test_a_copy_of_a_mapped_weight_needs_no_leaf():
    """Only trained weights that no leaf holds are named; the copy of one that is held is not."""
    side: Any = Wide(2)
    params = {"a": side.state["fc0"], "b": np.linspace(3, 4, 3)}
    with pytest.raises(ProofError) as error:
        weight_map(side, lambda params, x: x, params, None)
    assert "torch's 'fc1' [3] is in no JAX leaf" in str(error.value)
    assert "'copy'" not in str(error.value) and "'mean'" not in str(error.value)


def test_a_mapping_must_cover_the_leaves():
    """A floating leaf that no entry names is an error; an integer one is not."""
    _, mapped = resolved({"kernel": W.T, "n": np.arange(2)}, {"fc.weight": ("kernel", (1, 0))})
    assert mapped.names_of(0) == ["fc.weight"]
    words = "weights= sends no tensor to the leaf 'other', and every tensor of torch has an entry"
    with pytest.raises(ProofError, match=words):
        resolved({"kernel": W.T, "other": np.ones(2)}, {"fc.weight": ("kernel", (1, 0))})


def test_a_rearranging_converter_is_called_twice():
    """A converter that only rearranges is recognised by its values, without further calls."""
    calls = []

    def convert(state: Any) -> Any:
        calls.append(None)
        return {"kernel": state["fc.weight"].T, "n": np.arange(3)}

    _, mapped = resolved(None, convert)
    assert len(calls) == 2 and mapped.pieces[0].scale == 1


@pytest.mark.parametrize("factor", [0.5, 3.25])
def test_a_converter_may_round_exact_coefficients(factor):
    """A coefficient that is a multiple of 1/4096 is exact in float32."""
    _, mapped = resolved(None, lambda state: {"x": np.float32(state["fc.weight"]) * factor})
    assert np.array_equal(mapped.to_jax({"fc.weight": 2 * W})[0], 2 * factor * W)


def test_a_converter_may_not_round_other_coefficients():
    """A coefficient of 0.1 is inexact in float32, so the leaf is named; float64 holds it."""
    tenth = lambda state: np.asarray(state["fc.weight"]) * 0.1  # noqa: E731
    _, mapped = resolved(
        None, lambda state: {"y": np.float32(state["fc.weight"]), "x": tenth(state)}
    )
    assert np.allclose(mapped.to_jax({"fc.weight": 2 * W})[0], 0.2 * W, rtol=1e-12)
    with pytest.raises(ProofError, match="weights= computes leaf 'x' in float32: keep the dtype"):
        resolved(None, lambda state: {"a": tenth(state), "x": np.float32(tenth(state))})


@pytest.mark.parametrize(
    ("scale", "dyadic"),
    [(1.0, True), (1 / 4096, True), (1 / 8192, False), (0.1, False), ([0.5, 3.25], True),
     ([0.5, 0.3], False)],
)  # fmt: skip
def test_exact_coefficients_are_multiples_of_a_power_of_two(scale, dyadic):
    """All coefficients must be multiples of 1/4096."""
    assert _is_dyadic(np.asarray(scale)) is dyadic


def test_random_weights_keep_sign_and_kind():
    """Tensors without negative elements get none; complex ones get both parts."""
    tensors: Any = {
        "w": -np.ones(50),
        "var": np.zeros(50),
        "c": np.ones(50, complex),
        "e": np.ones(0),
    }
    values: Any = _random(tensors, 0)
    others: Any = _random(tensors, 1)
    assert values["w"].min() < 0 < values["w"].max() and values["var"].min() > 0
    assert values["c"].real.min() < 0 and values["c"].imag.min() < 0 < values["c"].imag.max()
    assert not np.array_equal(values["w"], others["w"]) and values["e"].shape == (0,)
    np.testing.assert_array_equal(values["w"], np.float32(values["w"]))
    assert np.std(values["c"].imag) > 0.5


def test_a_leaf_without_numbers_is_named():
    """The first leaf of strings is named; the leaves beside it hold numbers."""
    params = {"a": W.T, "b": np.array(["x"]), "c": np.array(["y"])}
    with pytest.raises(ProofError, match="params: leaf 'b' holds no numbers, but objects or str"):
        resolved(params)


def test_a_converter_may_return_an_empty_tree():
    """A loss has no weights, and a module may use none; a result of None is refused."""
    side: Any = Side()
    with pytest.raises(ProofError, match="params contains no array"):
        weight_map(side, lambda params, x: x, None, lambda state: None)
    assert weight_map(side, lambda params, x: x, None, lambda state: {})[1].pieces == ()
    side.state, side.flags, side.names = {}, {}, {}
    params, mapped = weight_map(side, lambda params, x: x, None, lambda state: {})

    assert params == {} and mapped.pieces == ()


def test_a_constant_leaf_of_the_state_needs_no_tensor():
    """The port's state may start from zeros; a leaf that varies is not fresh."""
    side: Any = Wide(1)
    params = {"w": side.state["fc0"], "sum": np.zeros(4)}
    asked: list[Any] = []

    def returned(given: Any) -> Returned:
        asked.append(given)
        return Returned(["sum"])

    found, mapped = weight_map(side, lambda params, x: x, params, None, returned)
    assert (
        found is params and asked == [params] and mapped.names_of(mapped.paths.index("sum")) == []
    )
    hint = Returned(hint=". Pass has_state=True")
    for state in (None, lambda _: Returned(), lambda _: hint):
        with pytest.raises(
            ProofError, match="JAX leaf 'sum' \\[4\\] holds no torch tensor"
        ) as error:
            weight_map(side, lambda params, x: x, params, None, state)
    assert str(error.value).endswith("Pass has_state=True")
    params["sum"] = np.arange(4.0)
    with pytest.raises(ProofError, match="'sum'"):
        weight_map(side, lambda params, x: x, params, None, returned)


@pytest.mark.parametrize("leaf", [np.zeros(3, np.float32), np.arange(3, dtype=np.float32)])
@pytest.mark.parametrize("converted", [False, True])
def test_a_leaf_that_the_port_never_reads_needs_no_tensor(leaf, converted):
    """A flax module may declare a parameter that torch creates only if it is used."""
    module = nn.Linear(4, 3)
    own = {name: x.detach().numpy() for name, x in module.state_dict().items()}

    def port(p: Any, x: Any) -> Any:
        return x @ p["weight"].T + p["bias"]

    params: Any = None if converted else own | {"mask": leaf}
    weights = (lambda state: dict(state) | {"mask": leaf}) if converted else None
    report = prove(module, port, params, (np.ones((2, 4), np.float32),), weights=weights)
    assert report.verdict == "pass", report
    text = (
        "the port's params hold mask: no output depends on this, and it holds no tensor of torch's "
        "state dict"
    )
    assert text in report.notes

    def reads(p: Any, x: Any) -> Any:
        return port(p, x) + p["mask"]

    read = prove(module, reads, params, (np.ones((2, 4), np.float32),), weights=weights)
    assert text not in read.notes
    assert (read.verdict == "pass") == (converted and not leaf.any()), read


def test_a_converter_returns_the_shapes_of_the_params():
    """A converter that transposes every matrix is blamed itself, not a product in the port."""
    module = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
    state = {name: x.detach().numpy() for name, x in module.state_dict().items()}

    def port(p, x):
        return (x @ p["0.weight"].T + p["0.bias"]) @ p["1.weight"].T + p["1.bias"]

    def converter(state_dict):
        return {name: x.T if x.ndim > 1 else x for name, x in state_dict.items()}

    report = prove(module, port, state, (np.ones((5, 3)),), weights=converter)

    assert report.verdict == "error"
    assert (
        "weights= returns the leaf '0.weight' with the shape (3, 4), but params has (4, 3) there "
        "(and 1 other leaf too): transpose or reshape it in the converter"
    ) in str(report)


def test_a_dict_of_weights_without_an_entry_names_it():
    """The values may well be equal: only the entry is missing."""
    module = nn.Linear(3, 2)
    state = {name: x.detach().numpy() for name, x in module.state_dict().items()}
    report = prove(
        module, lambda p, x: x @ p["weight"].T + p["bias"], state, (np.ones((4, 3)),),
        weights={"weight": "weight"},
    )  # fmt: skip

    assert report.verdict == "error"
    assert (
        "weights= sends no tensor to the leaf 'bias'; the tensors without an entry are 'bias': add "
        "an entry, as in {'bias': 'bias'}"
    ) in str(report)
