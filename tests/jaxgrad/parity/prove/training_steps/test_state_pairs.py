"""Buffers are paired with the leaves of a state by values, and by names that contain words."""

import numpy as np
import pytest

from jaxgrad.parity.prove.training_steps.state_pairs import paired


RNG = np.random.default_rng(0)
MEAN, VAR, MEAN2, VAR2 = ([RNG.normal(size=6) for _ in range(2)] for _ in range(4))
TORCH = {
    "blocks.0.running_mean": MEAN, "blocks.0.running_var": VAR,
    "blocks.1.running_mean": MEAN2, "blocks.1.running_var": VAR2,
}  # fmt: skip
PATHS = ("1/0", "1/1", "3/0", "3/1")
RIGHT = dict(zip(TORCH, PATHS, strict=True))


def changed(values, scale=1.0, shift=0.0):
    """Return the values on each draw as a wrong momentum or a biased variance gives them."""
    return [scale * x + shift for x in values]


def state(scale=1.0, shift=0.0):
    return {p: changed(x, scale, shift) for p, x in zip(PATHS, TORCH.values(), strict=True)}


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1 + 1e-8, 0.0), (0.8, 0.1), (10.0, 0.0)])
def test_a_path_without_words_is_paired_by_values(scale, shift):
    """The indices in the paths of an equinox state are not layer numbers, so values decide."""
    assert paired(TORCH, state(scale, shift)) == (RIGHT, {})
    mixed = {**state(), "3/1": changed(VAR2, 0.9, 0.2)}
    assert paired(TORCH, dict(reversed(mixed.items()))) == (RIGHT, {})


def test_words_decide_about_wrong_values():
    """A leaf is paired by its name even if its values are wrong."""
    torch = {"bn1.running_mean": MEAN, "bn2.running_mean": MEAN2}
    wrong = {"bn2/mean": changed(VAR), "bn1/mean": changed(VAR2)}
    expected = {"bn1.running_mean": "bn1/mean", "bn2.running_mean": "bn2/mean"}
    assert paired(torch, wrong) == (expected, {})
    swapped = {"bn2/mean": MEAN, "bn1/mean": MEAN2}
    assert paired(torch, swapped).paths["bn1.running_mean"] == "bn2/mean", "equal values come first"


def test_equal_values_are_paired_by_their_names():
    """All counters of a model have the same value."""
    one = [np.array(1), np.array(1)]
    torch = {f"{k}.num_batches_tracked": one for k in (2, 10)}
    names = {"10/count": one, "2/count": one}
    assert paired(torch, names).paths == {
        "2.num_batches_tracked": "2/count", "10.num_batches_tracked": "10/count",
    }  # fmt: skip


def test_what_nothing_decides_is_ambiguous():
    """Constant leaves are ambiguous, because they fit every buffer equally well."""
    still = [np.ones(6), np.ones(6)]
    torch = {"a.running_mean": MEAN, "b.running_mean": MEAN2, "c.scale": [np.ones(2), np.zeros(2)]}
    found = paired(torch, {"0": still, "1": still, "2": [np.ones(2), np.ones(2)]})
    assert found.paths == {"c.scale": "2"}, "no other buffer and no other leaf has its size"
    assert found.ambiguous == {"a.running_mean": ("0", "1"), "b.running_mean": ("0", "1")}
    alike = {"0": changed(MEAN, 0.5), "1": changed(MEAN, 2.0)}
    assert paired({"a.running_mean": MEAN, "b.running_mean": MEAN2}, alike).paths == {}


def test_one_draw_may_differ_where_another_one_agrees():
    """Values must be equal, or vary alike, on every draw."""
    torch = {"a.running_mean": [MEAN[0], MEAN[1]], "b.running_mean": [MEAN[0], VAR[1]]}
    jax = {"0": [MEAN[0], VAR[1]], "1": [MEAN[0], MEAN[1]]}
    assert paired(torch, jax).paths == {"a.running_mean": "1", "b.running_mean": "0"}


def test_sizes_must_agree():
    """A pair must have equal sizes and equal imaginary parts; its shapes may differ."""
    column = [x.reshape(6, 1) for x in MEAN]
    assert paired({"a": MEAN}, {"0": [np.ones(5)] * 2}) == ({}, {})
    assert paired({"a": MEAN}, {"0": [np.ones(5)] * 2, "1": column}) == ({"a": "1"}, {})
    left = {"a": [np.array([1 + 2j, 3])] * 2, "b": [np.array([1 - 2j, 3])] * 2}
    right = {"0": left["b"], "1": left["a"]}
    assert paired(left, right).paths == {"a": "1", "b": "0"}
    flags = {"a": [np.array([True, False])] * 2, "b": [np.array([False, True])] * 2}
    assert paired(flags, {"0": flags["b"], "1": flags["a"]}).paths == {"a": "1", "b": "0"}


def test_a_flag_is_not_paired_with_a_number():
    """An equinox dropout stores its mode as a bool, which must not match torch's counter."""
    torch = {"num_batches_tracked": [np.array(1), np.array(1)]}
    flag = {"drop/inference": [np.array(True), np.array(True)]}

    assert paired(torch, flag) == ({}, {})
    assert paired(torch, {**flag, "count": torch["num_batches_tracked"]}).paths == {
        "num_batches_tracked": "count"
    }
    assert paired({"seen": flag["drop/inference"]}, flag).paths == {"seen": "drop/inference"}
