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
