"""A whole weight map can be inferred from the values."""

import numpy as np

from jaxgrad.parity.prove.weights.infer import infer


def test_fused_stacked_and_summed_weights_are_inferred():
    """Fused, stacked and summed leaves are inferred, and the map converts weights and gradients."""
    rng = np.random.default_rng(0)
    t = {name: rng.standard_normal((4, 4)) for name in ("q", "k", "v", "l.0", "l.1")}
    t |= {name: rng.standard_normal(4) for name in ("b_ih", "b_hh")}
    leaves = {
        "qkv": np.concatenate([t["q"].T, t["k"].T, t["v"].T], 1),
        "stacked": np.stack([t["l.0"].T, t["l.1"].T]),
        "bias": t["b_ih"] + t["b_hh"],
    }
    mapped, missing, extra = infer(t, list(leaves.values()), list(leaves))
    assert not missing and not extra
    fresh = {name: rng.standard_normal(x.shape) for name, x in t.items()}
    qkv, stacked, bias = mapped.to_jax(fresh)
    assert np.array_equal(qkv[:, 4:8], fresh["k"].T)
    assert np.array_equal(stacked[1], fresh["l.1"].T)
    assert np.array_equal(bias, fresh["b_ih"] + fresh["b_hh"])
    grads = mapped.to_torch([np.ones((4, 12)), None, np.arange(4.0)])
    assert grads["l.0"] is None
    assert grads["b_ih"] is not None and np.array_equal(grads["b_ih"], np.arange(4.0))


def rows(*names: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.standard_normal((4, 3) if "weight" in name else 4) for name in names}


def test_rows_in_another_order_are_looked_up():
    """A matrix whose rows are permuted, and its bias, are found element by element."""
    t, order = rows("fc.weight", "fc.bias"), [2, 0, 3, 1]
    leaves = {"fc/bias": t["fc.bias"][order], "fc/kernel": t["fc.weight"][order].T}
    mapped, missing, extra = infer(t, list(leaves.values()), list(leaves))
    assert not missing and not extra
    fresh = {name: x + 1 for name, x in t.items()}
    bias, kernel = mapped.to_jax(fresh)
    assert np.array_equal(bias, fresh["fc.bias"][order])
    assert np.array_equal(kernel, fresh["fc.weight"][order].T)


def test_a_constant_bias_follows_the_rows_of_its_kernel():
    """A bias with equal elements is matched by the kernel beside it, in the kernel's order."""
    t, order = rows("fc.weight"), [3, 1, 2, 0]
    t["fc.bias"] = np.array([1.0, 1.0, 2.0, 2.0])
    leaves = {"fc/bias": t["fc.bias"][order], "fc/kernel": t["fc.weight"][order].T}
    mapped, missing, extra = infer(t, list(leaves.values()), list(leaves))
    assert not missing and not extra
    fresh = {name: x + np.arange(4.0)[: len(x)] if x.ndim == 1 else x for name, x in t.items()}
    assert np.array_equal(mapped.to_jax(fresh)[0], fresh["fc.bias"][order])


def test_what_is_in_no_leaf_is_listed():
    """A tensor without a leaf and a leaf without a tensor are listed; integers are not."""
    t = rows("fc.weight", "fc.bias") | {"ones": np.ones(4)}
    leaves = {"w": t["fc.weight"], "b": np.linspace(5, 6, 4), "n": np.arange(4), "o": np.ones(4)}
    mapped, missing, extra = infer(t, list(leaves.values()), list(leaves))
    assert missing == ["fc.bias"] and extra == ["b"]
    assert [piece.name for piece in mapped.pieces] == ["fc.weight", "ones"]
    constant = [piece.guessed for piece in mapped.pieces]
    assert constant == [False, True]


def test_a_varied_tensor_is_not_a_constant():
    """A constant leaf gets a constant tensor, not a part of one that varies."""
    t = {"a.bias": np.array([0.0, 0.0, 1.0, 2.0]), "b.bias": np.zeros(2)}
    mapped, missing, extra = infer(t, [np.zeros(2)], ["a/bias"])
    assert [piece.name for piece in mapped.pieces] == ["b.bias"]
    assert missing == ["a.bias"] and not extra
