"""`likeness` scores how similar a torch name and a JAX path are."""

import pytest

from jaxgrad.parity.prove.weights.likeness import leaves_of, likeness, natural, role


def test_synonyms_are_equal_words():
    """The words "scale" and "weight" count as equal, but "bias" and "weight" do not."""
    assert likeness("layers.0.norm.weight", "layers/0/norm/scale") == 1
    assert likeness("layers.0.norm.weight", "layers/0/norm/bias") < 1


def test_a_layer_number_outweighs_a_word():
    """A matching layer number counts for more than a matching word."""
    assert likeness("h.1.weight", "h/1/bias") > likeness("h.1.weight", "h/2/weight")
    assert likeness("h.1.mlp.weight", "h/1/weight") > likeness("h.1.mlp.weight", "h/2/mlp/weight")


def test_names_are_sorted_by_number():
    """Layer 10 is sorted after layer 9."""
    assert sorted(["h.10.w", "h.9.w", "h.1.w"], key=natural) == ["h.1.w", "h.9.w", "h.10.w"]


def test_a_path_may_omit_outer_levels():
    """Two paths name the same leaf if one omits outer levels, but not parts of words."""
    paths = ["batch_stats/bn/mean", "bn/mean"]
    assert leaves_of("bn/mean", paths[:1]) == [0]
    assert leaves_of("bn/mean", paths) == [1]  # the leaf of exactly this path
    assert leaves_of("n/mean", paths) == []


@pytest.mark.parametrize(
    ("name", "path", "score"),
    [
        ("layers.0.norm.running_mean", "batch_stats/layers/0/norm/mean", 10 / 12),
        ("layers.0.shortcut.norm.running_mean", "batch_stats/layers/0/norm/mean", 10 / 13),
        ("a.b.c", "x/b/y", 2 / 6),
        ("a.b", "b/a", 2 / 4),
        ("a.b.c.d", "a/c/q/d", 6 / 8),
        ("a.1", "b/2", 0.0),
        ("", "", 0.0),
    ],
)
def test_the_score_is_the_share_of_common_words_in_order(name, path, score):
    """The score counts the common words in order twice, relative to all words."""
    assert likeness(name, path) == pytest.approx(score)


@pytest.mark.parametrize(
    ("path", "part"),
    [("attn/query/bias", 0), ("attn/key/bias", 1), ("wv", 2), ("norm/bias", 0), ("bk", 1),
     ("xv", 0), ("attnKey", 1), ("value/key", 1), ("key/value", 2), ("w", 0)],
)  # fmt: skip
def test_the_part_of_a_fused_tensor_is_read_from_its_path(path, part):
    """The innermost word that names a part counts, with a letter w or b before it."""
    assert role(path) == part


@pytest.mark.parametrize(
    ("path", "other", "same"),
    [("a/b", "a/b", True), ("a/b", "b", True), ("b", "a/b", True), ("a/b", "a/c", False),
     ("ab", "b", False)],
)  # fmt: skip
def test_either_path_may_be_the_longer_one(path, other, same):
    """Paths match in both orders, the shorter first or the longer first."""
    assert leaves_of(path, [other]) == ([0] if same else [])
