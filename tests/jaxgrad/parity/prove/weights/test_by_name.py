"""Constant weights are paired by name and checked with redrawn values."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch import Tensor, nn

from jaxgrad.parity import prove
from jaxgrad.parity.prove.weights.by_name import (
    _shared,
    constants,
    exchangeable,
    exchanged,
    scored,
    tied,
)
from jaxgrad.parity.prove.weights.by_value import ParamLeaf
from jaxgrad.parity.prove.weights.map import Piece, WeightMap
from tests.jaxgrad.parity.prove._helpers import arrays, draw, proved


TENSORS = {f"{i}.norm.{name}": x for i in (0, 1) for name, x in
           (("weight", np.ones(4)), ("bias", np.zeros(4)))}  # fmt: skip


def paired(paths: list[str], values: list[np.ndarray]) -> dict[str, str]:
    """Pair constant leaves by name, and return the tensor of each path."""
    leaves = [ParamLeaf(i, p, x) for i, (p, x) in enumerate(zip(paths, values, strict=True))]
    pieces = constants(TENSORS, leaves, scored(paths, []))
    assert all(piece.guessed for piece in pieces)
    return {paths[piece.leaf]: piece.name for piece in pieces}


def test_ones_and_zeros_are_paired_by_name():
    """Scales and offsets of two norms are paired with the tensors of the same layer."""
    paths = ["layers/1/norm/scale", "layers/0/norm/scale", "layers/0/norm/offset"]

    assert paired(paths, [np.ones(4), np.ones(4), np.zeros(4)]) == {
        "layers/1/norm/scale": "1.norm.weight",
        "layers/0/norm/scale": "0.norm.weight",
        "layers/0/norm/offset": "0.norm.bias",
    }


def test_a_constant_leaf_needs_a_tensor_of_its_value():
    """A leaf of twos is not paired with tensors of ones or zeros."""
    assert not paired(["0/norm/scale"], [np.full(4, 2.0)])


def test_a_stack_of_constant_tensors_is_paired():
    """A leaf of stacked ones is paired with the weight of each layer, in order."""
    leaf = ParamLeaf(0, "norm/scale", np.ones((2, 4)))
    pieces = constants(TENSORS, [leaf], scored(["norm/scale"], []))

    assert [piece.name for piece in pieces] == ["0.norm.weight", "1.norm.weight"]
    assert [piece.region for piece in pieces] == [
        (slice(n, n + 1), slice(None)) for n in (0, 1)
    ] or [piece.region[0] for piece in pieces] == [slice(0, 1), slice(1, 2)]
    assert all(piece.index.tolist() == [[0, 1, 2, 3]] for piece in pieces)


def test_a_slice_of_a_constant_tensor_is_paired():
    """The zero biases of q, k and v are paired with thirds of the fused bias."""
    leaves = [ParamLeaf(i, f"attn/{name}/bias", np.zeros(2)) for i, name in enumerate("qkv")]
    score = scored([leaf.path for leaf in leaves], [])
    pieces = constants({"attn.in_proj_bias": np.zeros(6)}, leaves, score)

    assert [list(piece.index) for piece in pieces] == [[0, 1], [2, 3], [4, 5]]


def test_slices_are_paired_in_the_order_of_the_fused_tensor():
    """The thirds of a fused bias go to query, key and value, whose alphabetical order differs."""
    paths = [f"bias/{name}" for name in ("key", "query", "value")]
    leaves = [ParamLeaf(i, path, np.zeros(2)) for i, path in enumerate(paths)]
    pieces = constants({"attn.in_proj_bias": np.zeros(6)}, leaves, scored(paths, []))

    assert {paths[p.leaf]: p.index[0] for p in pieces} == {
        "bias/query": 0, "bias/key": 2, "bias/value": 4
    }  # fmt: skip


def test_a_constant_matrix_is_paired_with_its_transpose():
    """A leaf with the axes of a constant matrix swapped is paired with the transpose."""
    leaf = ParamLeaf(0, "kernel", np.zeros((3, 2)))
    (piece,) = constants({"weight": np.zeros((2, 3))}, [leaf], scored(["kernel"], []))

    assert np.array_equal(piece.index, np.arange(6).reshape(2, 3).T)


def test_a_stack_needs_one_tensor_for_each_layer():
    """A stack of three layers is not paired with the tensors of two."""
    leaf = ParamLeaf(0, "norm/scale", np.ones((3, 4)))

    assert not constants(TENSORS, [leaf], scored(["norm/scale"], []))


def test_the_number_of_a_layer_is_not_that_of_a_norm():
    """Each stack takes one of two numbered norms of every layer."""
    tensors = {f"layers.{i}.n{k}.weight": np.ones(4) for i in range(3) for k in (1, 2)}
    leaves = [ParamLeaf(i, f"blocks/n{i + 1}/scale", np.ones((3, 4))) for i in range(2)]

    pieces = constants(tensors, leaves, scored([leaf.path for leaf in leaves], []))

    assert [p.name for p in pieces] == [f"layers.{i}.n{k}.weight" for k in (1, 2) for i in range(3)]


def test_a_fused_leaf_of_constants_takes_whole_tensors():
    """A zero bias of q, k and v is filled with the three biases of torch."""
    tensors = {f"{name}.bias": np.zeros(2) for name in "qkv"} | {"o.bias": np.ones(2)}
    leaf = ParamLeaf(0, "qkv/bias", np.zeros(6))

    pieces = constants(tensors, [leaf], scored(["qkv/bias"], []))

    assert sorted(p.region[0].start for p in pieces) == [0, 2, 4]
    assert {p.name for p in pieces} == {"q.bias", "k.bias", "v.bias"}
    assert not constants(tensors, [leaf._replace(stored=np.zeros(5))], scored(["qkv/bias"], []))


def test_a_slice_beside_a_known_slice_is_free():
    """A tensor whose middle is held by a known piece still gives its other slices."""
    known = Piece(9, (slice(None),), "f", np.arange(2, 4))
    leaves = [ParamLeaf(i, path, np.zeros(2)) for i, path in enumerate("xy")]

    pieces = constants({"f": np.zeros(6)}, leaves, scored(["x", "y"], []), [known])

    assert sorted(p.index[0] for p in pieces) == [0, 4]


def test_a_matrix_of_zeros_is_paired_with_a_tensor_of_its_shape():
    """Two matrices of zeros with equal sizes differ in shape."""
    tensors = {"a": np.zeros((6, 2)), "b": np.zeros((3, 4))}
    leaves = [ParamLeaf(0, "p", np.zeros((4, 3))), ParamLeaf(1, "q", np.zeros((2, 6)))]

    pieces = constants(tensors, leaves, scored(["p", "q"], []))

    assert {p.leaf: p.name for p in pieces} == {0: "b", 1: "a"}


def test_a_slice_needs_a_tensor_of_a_multiple_of_its_size():
    """A leaf of four zeros is not a slice of six zeros, nor a leaf of two ones one of zeros."""
    score = scored(["bias"], [])
    six = {"bias": np.zeros(6)}

    assert not constants(six, [ParamLeaf(0, "bias", np.zeros(4))], score)
    assert not constants(six, [ParamLeaf(0, "bias", np.ones(2))], score)


def test_a_sibling_leaf_decides_between_equal_tensors():
    """A tensor scores higher if a sibling leaf belongs to the same module."""
    paths = ["visual/kernel", "visual/scale"]
    known = [Piece(0, (slice(None),), "b.norm.kernel", np.arange(4))]
    score = scored(paths, known)
    leaf = ParamLeaf(1, "visual/scale", np.ones(4))

    near = 5 * 2 / 3  # two of the three parts of the name are those of the known tensor
    gain = score(leaf, "b.norm.weight") - score(leaf, "a.norm.weight")
    assert gain == pytest.approx(10 + near)


def test_two_equal_constants_can_be_exchanged():
    """Only constants of one value and size are exchangeable, slices of one tensor first."""
    shapes = [(4,), (4,), (2,), (2,)]
    paths = ("1/norm/scale", "0/norm/scale", "0/norm/bias/a", "0/norm/bias/b")
    values = [np.full(shape, 1.0 if k < 2 else 0.0) for k, shape in enumerate(shapes)]
    leaves = [ParamLeaf(i, p, x) for i, (p, x) in enumerate(zip(paths, values, strict=True))]
    pieces = tuple(constants(TENSORS, leaves, scored(paths, [])))
    mapped = WeightMap(pieces, tuple(values), TENSORS, paths)
    slices, scales = exchangeable(mapped)
    other = exchanged(mapped, *scales)

    assert [mapped.pieces[i].name for i in slices] == ["0.norm.bias"] * 2
    assert mapped.names_of(0) == other.names_of(1)
    assert mapped.names_of(1) == other.names_of(0)


def test_constant_weights_are_paired_and_redrawn(arguments):
    """Constant weights are paired by name, and redrawing them reveals a wrong use."""
    module = nn.Sequential(nn.LayerNorm(6), nn.LayerNorm(6))
    params = [{"scale": np.ones(6), "shift": np.zeros(6)} for _ in range(2)]

    def norm(p: Any, x: Any) -> Any:
        x = x - jnp.mean(x, -1, keepdims=True)
        return x * lax.rsqrt(jnp.mean(x**2, -1, keepdims=True) + 1e-5) * p["scale"] + p["shift"]

    fn = lambda p, x: norm(p[1], norm(p[0], x))  # noqa: E731
    report = proved(arguments, module=module, fn=fn, params=params)
    assert report.verdict == "pass", report
    assert "4 constant tensors paired by name" in report.surfaces["structure"].text
    # With constant weights the wrong shift has no effect: only the second draw reveals it.
    wrong = lambda p, x: norm(p[1] | {"shift": p[0]["shift"]}, norm(p[0], x))  # noqa: E731
    report = proved(arguments, module=module, fn=wrong, params=params)
    assert report.verdict == "fail"


def test_the_ones_of_a_norm_belong_to_their_tower():
    """The norms of two similar towers are paired by the weights around them."""
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
    for path, name in (("image", "visual"), ("words", "textual")):
        for k, layer in enumerate(("enter", "norm", "leave")):
            kernel, bias = state[f"{name}.{k}.weight"].T, state[f"{name}.{k}.bias"]
            p.setdefault(path, {})[layer] = {"kernel": kernel, "bias": bias}

    def one(p: Any, x: Any) -> Any:
        x = x @ p["enter"]["kernel"] + p["enter"]["bias"]
        x = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
        x = x * p["norm"]["kernel"] + p["norm"]["bias"]
        return x @ p["leave"]["kernel"] + p["leave"]["bias"]

    def apply(p: Any, image: Any, text: Any) -> Any:
        return one(p["image"], image) @ one(p["words"], text).T

    prove(module, apply, p, (draw(4, 3), draw(4, 5))).check()


@pytest.mark.parametrize(
    ("name", "other", "share"),
    [("a.b.c", "a.b.d", 2 / 3), ("a.b", "a.b", 1.0), ("a.b.c.d", "a", 0.25), ("a.b", "x.b", 0.0)],
)
def test_the_common_prefix_is_counted_in_parts(name, other, share):
    """The share is relative to the parts of the first name."""
    assert _shared(name, other) == pytest.approx(share)


def test_constants_of_one_element_are_paired():
    """A leaf of one element, or of none, is paired with a tensor of its size and value."""
    tensors = {"a": np.ones(1), "b": np.zeros(1), "c": np.zeros(0)}
    leaves = [ParamLeaf(i, p, tensors[p]) for i, p in enumerate("cba")]
    pieces = constants(tensors, leaves, scored(["c", "b", "a"], []))
    assert {"cba"[piece.leaf]: piece.name for piece in pieces} == {"a": "a", "b": "b", "c": "c"}
    empty = constants({"c": np.zeros(0)}, [ParamLeaf(0, "x", np.zeros((0, 2)))], scored(["x"], []))
    assert [piece.name for piece in empty] == ["c"] and empty[0].index.shape == (0, 2)


def test_a_tensor_is_not_split_beyond_its_size():
    """Two leaves of two elements fill a tensor of four; a third one gets nothing."""
    leaves = [ParamLeaf(i, f"attn/{n}/bias", np.zeros(2)) for i, n in enumerate("qkv")]
    pieces = constants({"attn.bias": np.zeros(4)}, leaves, scored([x.path for x in leaves], []))
    assert [list(piece.index) for piece in pieces] == [[0, 1], [2, 3]]


def test_the_last_part_of_a_tensor_goes_to_a_single_leaf():
    """A single leaf of a third of a fused bias holds its last third."""
    (piece,) = constants({"gates": np.zeros(6)}, [ParamLeaf(0, "bias_n", np.zeros(2))],
                         scored(["bias_n"], []))  # fmt: skip
    assert list(piece.index) == [4, 5]


def test_the_smallest_known_subtree_scores_a_name():
    """A tensor near those of the subtree around a leaf scores up to five more."""
    paths = ["net/a/kernel", "net/b/kernel", "net/a/norm/scale", "other/scale"]
    known = [Piece(n, (slice(None),), f"{m}.0.weight", np.arange(4)) for n, m in enumerate("xy")]
    score = scored(paths, known)
    near, far = (ParamLeaf(n, paths[n], np.ones(4)) for n in (2, 3))
    assert score(near, "x.1.gain") - score(near, "z.1.gain") == pytest.approx(5 / 3)
    assert score(far, "x.1.gain") == score(far, "z.1.gain")
    both = ParamLeaf(4, "net/c/scale", np.ones(4))
    assert score(both, "x.1.gain") - score(both, "z.1.gain") == pytest.approx(5 / 6)


def test_a_tied_constant_is_paired_once_for_each_of_its_keys():
    """A tensor without a second key belongs to one leaf, and one of another size to none."""
    tensors = {"bias": np.zeros(3), "other": np.zeros(3), "large": np.zeros(4)}
    names = {"bias": "bias", "decoder.bias": "bias", "other": "other", "large": "large"}
    leaves = [ParamLeaf(i, path, np.zeros(3)) for i, path in enumerate(["decoder/bias", "more"], 2)]
    known = [Piece(0, (slice(None),), "bias", np.arange(3)),
             Piece(1, (slice(None),), "other", np.arange(3))]  # fmt: skip

    pieces = tied(tensors, leaves, names, known)
    assert [(piece.leaf, piece.name, piece.guessed) for piece in pieces] == [(2, "bias", True)]
    assert tied(tensors, leaves, {}, known) == []


class TiedHead(nn.Module):
    """A head whose bias has two names, as that of BERT's language model."""

    def __init__(self, bias: Tensor) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.decoder, self.bias = nn.Linear(3, 3), nn.Parameter(bias)
        self.decoder.bias = self.bias

    def forward(self, x: Tensor) -> Tensor:
        return self.decoder(x)


@pytest.mark.parametrize("used", ["bias", "decoder"])
@pytest.mark.parametrize("bias", [[0.0, 0.0, 0.0], [0.1, 0.2, 0.3]])
def test_a_tied_bias_of_zeros_may_be_stored_under_both_names(bias, used):
    """The port uses one of both leaves, or leaves out the bias, which is found."""
    module = TiedHead(torch.tensor(bias))
    state = {name: x.numpy() for name, x in module.state_dict().items()}
    layer = {"weight": state["decoder.weight"], "bias": state["decoder.bias"]}
    params = {"decoder": layer, "bias": state["bias"]}

    def port(p: Any, x: Any) -> Any:
        return x @ p["decoder"]["weight"].T + (p["bias"] if used == "bias" else p[used]["bias"])

    assert prove(module, port, params, (draw(2, 3),)).verdict == "pass"
    wrong = prove(module, lambda p, x: x @ p["decoder"]["weight"].T, params, (draw(2, 3),))
    assert wrong.verdict == "fail"
