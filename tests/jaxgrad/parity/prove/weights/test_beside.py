"""Biases are matched by the weights beside them."""

import numpy as np
import pytest

from jaxgrad.parity.prove.weights.beside import beside, summed_zeros
from jaxgrad.parity.prove.weights.by_value import ParamLeaf
from jaxgrad.parity.prove.weights.infer import infer
from jaxgrad.parity.prove.weights.map import Piece


ALL = (slice(None),)
GATES = np.array([0, 1, 4, 5, 2, 3, 6, 7])  # i, g, f, o instead of i, f, g, o
NUMBERS = np.arange(24).reshape(8, 3)
ZEROS = {"r.weight_ih_l0": NUMBERS * 1.0, "r.bias_ih_l0": np.zeros(8), "r.bias_hh_l0": np.zeros(8)}
KERNEL = Piece(0, ALL * 2, "r.weight_ih_l0", NUMBERS[GATES].T)


def bias(x: np.ndarray, tensors: dict[str, np.ndarray]) -> list[Piece]:
    return beside(tensors, ParamLeaf(1, "cell/b", x), [KERNEL], ["cell/w", "cell/b"])


def test_a_zero_bias_has_the_order_of_the_kernel():
    """A bias of zeros is ordered like the rows of the kernel in the same subtree."""
    (piece,) = bias(np.zeros(8), ZEROS)

    assert piece.name == "r.bias_ih_l0" and list(piece.index) == list(GATES)
    assert not beside(ZEROS, ParamLeaf(1, "head/b", np.zeros(8)), [KERNEL], ["cell/w", "head/b"])


def test_a_flat_dict_of_several_layers_has_no_beside():
    """A bias is not matched if its subtree holds the weights of two modules."""
    tensors = {**ZEROS, "fc.weight": NUMBERS * 2.0}
    other = Piece(2, ALL * 2, "fc.weight", NUMBERS)
    leaf, paths = ParamLeaf(1, "b", np.zeros(8)), ["first", "b", "second"]

    assert beside(tensors, leaf, [KERNEL], paths)
    assert not beside(tensors, leaf, [KERNEL, other], paths)


@pytest.mark.parametrize(
    "pair", ["w{} b{}", "{}_kernel {}_bias", "kernels/{} biases/{}", "w{}uery b{}uery"]
)
def test_a_bias_is_beside_the_weight_of_its_name(pair):
    """Zero biases of q, k and v in a flat dict take the rows of the weight with their name."""
    weight, bias = pair.split()
    paths = [weight.format(n) for n in "qkv"] + [bias.format(n) for n in "qkv"]
    numbers = np.arange(24).reshape(6, 4)
    tensors = {"in_proj_weight": numbers * 1.0, "in_proj_bias": np.zeros(6)}
    known = [Piece(i, ALL * 2, "in_proj_weight", numbers[2 * i : 2 * i + 2]) for i in range(3)]
    biases = [ParamLeaf(3 + i, paths[3 + i], np.zeros(2)) for i in range(3)]
    pieces = [beside(tensors, leaf, known, paths) for leaf in biases]

    assert [list(piece.index) for (piece,) in pieces] == [[0, 1], [2, 3], [4, 5]]
    unlike = ParamLeaf(3, "zero", np.zeros(2))
    assert not beside(tensors, unlike, known, ["wq", "wk", "wv", "zero"])


def test_the_forget_gate_of_haiku_is_one_less():
    """The offset of haiku's forget gate is an offset of the piece."""
    x = np.zeros(8)
    x[4:6] = -1
    (piece,) = bias(x, ZEROS)

    assert np.array_equal(piece.take(np.zeros(8)), x)
    assert not bias(x / 2, ZEROS)


def test_two_biases_are_added():
    """If the other bias is not zero, the leaf is the sum of both."""
    forget = np.repeat([0.0, 1.0, 0.0, 0.0], 2)
    tensors = {**ZEROS, "r.bias_hh_l0": forget}
    pieces = bias(forget[GATES], tensors)

    assert [piece.name for piece in pieces] == ["r.bias_ih_l0", "r.bias_hh_l0"]


def test_a_plain_bias_has_no_offset():
    """The bias of a linear layer is not matched with zeros if it holds ones."""
    tensors = {"fc.weight": NUMBERS * 1.0, "fc.bias": np.zeros(8)}
    kernel = Piece(0, ALL * 2, "fc.weight", NUMBERS.T)
    for x, count in ((np.zeros(8), 1), (np.ones(8), 0)):
        leaf = ParamLeaf(1, "fc/bias", x)
        assert len(beside(tensors, leaf, [kernel], ["fc/kernel", "fc/bias"])) == count


def test_the_unused_zeros_of_the_other_bias_are_added():
    """Only elements of the other bias that no leaf holds are added."""
    held = Piece(1, ALL, "r.bias_ih_l0", np.arange(8))
    alone = Piece(2, ALL, "r.bias_hh_l0", np.arange(6, 8))
    (piece,) = summed_zeros(ZEROS, [held, alone])

    assert piece.name == "r.bias_hh_l0" and piece.leaf == 1
    assert list(piece.used) == list(range(6))


@pytest.mark.parametrize("size", [0.0, 1.0], ids=["zeros", "varied"])
def test_the_gru_of_equinox_is_inferred(size):
    """equinox's GRU adds the biases of two gates and keeps those of the third apart."""
    rng = np.random.default_rng(0)
    t = {f"r.weight_{k}_l0": rng.standard_normal((12, n)) for k, n in (("ih", 3), ("hh", 4))}
    t |= {f"r.bias_{k}_l0": size * rng.standard_normal(12) for k in ("ih", "hh")}

    def convert(t: dict[str, np.ndarray]) -> list[np.ndarray]:
        ih, hh = t["r.bias_ih_l0"], t["r.bias_hh_l0"]
        bias = np.concatenate([(ih + hh)[:8], ih[8:]])
        return [bias, hh[8:], t["r.weight_hh_l0"], t["r.weight_ih_l0"]]

    paths = [f"rnn/{name}" for name in ("bias", "bias_n", "weight_hh", "weight_ih")]
    mapped, missing, extra = infer(t, convert(t), paths)
    fresh = {name: rng.standard_normal(x.shape) for name, x in t.items()}

    assert not missing and not extra
    for x, y in zip(mapped.to_jax(fresh), convert(fresh), strict=True):
        np.testing.assert_allclose(x, y)


def test_two_leaves_of_zeros_do_not_hold_the_same_bias():
    """A second leaf of zeros beside a weight is not its bias again; an equal copy of values is."""
    paths = ["0", "1", "2"]
    kernel = Piece(0, ALL * 2, "l.weight", np.arange(6).reshape(2, 3))
    held = Piece(1, ALL, "l.bias", np.arange(2))
    for value, count in ((np.zeros(2), 0), (np.array([1.0, 2.0]), 1)):
        tensors = {"l.weight": np.ones((2, 3)), "l.bias": value}
        pieces = beside(tensors, ParamLeaf(2, "2", value), [kernel, held], paths)
        assert len(pieces) == count
