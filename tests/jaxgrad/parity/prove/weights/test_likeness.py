"""`likeness` scores how similar a torch name and a JAX path are."""

from jaxgrad.parity.prove.weights.likeness import likeness, natural, same_leaf


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
    assert same_leaf("bn/mean", "batch_stats/bn/mean")
    assert not same_leaf("n/mean", "batch_stats/bn/mean")
