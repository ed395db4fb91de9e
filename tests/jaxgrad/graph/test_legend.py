"""The legend explains every mark of a picture, and no other."""

import jax.numpy as jnp

from jaxgrad.graph import Setting, backward_graph, side_by_side
from tests.jaxgrad.graph.programs import X, loss, net, texts, torch_step


RECORDED, ABSENT, CUT = (
    "recorded, but not reached",
    "no backward step here, only without the stop",
    "gradient stopped",
)


def test_the_legend_has_what_occurs_and_nothing_else():
    """Cuts, outlines and recorded boxes are explained only in pictures that have them."""
    words = {
        cut: set(texts(side_by_side({"": torch_step(cut)}))) for cut in ("", "detach", "no_grad")
    }
    assert not words[""] & {RECORDED, ABSENT, CUT, "no ∇", "raises"}
    assert {RECORDED, CUT, "no ∇"} <= words["detach"] and ABSENT not in words["detach"]
    assert {ABSENT, CUT, "no ∇"} <= words["no_grad"] and RECORDED not in words["no_grad"]


def test_an_operation_that_torch_computes_is_not_called_absent():
    """Under `no_grad` torch computes a dotted operation too; only its backward step is missing."""
    words = texts(side_by_side({"": torch_step("no_grad")}))

    assert "no backward step here, only without the stop" in words
    assert not any("computed only" in text for text in words)


def test_abbreviations_are_spelled_out():
    """The legend spells out the short names that a picture uses."""
    svg = side_by_side({"": backward_graph(loss, net(6, 4, 1), X)})
    assert "bcast: broadcast_in_dim, dot: dot_general" in texts(svg)
    svg = side_by_side({"": backward_graph(lambda w: jnp.sum(w * w), jnp.ones(3))})
    assert not any("dot_general" in text for text in texts(svg))


def test_a_gradient_that_is_not_applied_is_explained():
    """A badge of a gradient that no optimizer applies, and one of zeros, are in the legend."""
    graph = torch_step()
    noted = graph.with_leaves({"l2.bias": 0.0}, {"l1.bias": "computed, not applied"})
    words = texts(side_by_side({"": Setting(noted)}))
    assert {"∇ not applied", "∇ of zeros", "∇ norm of a gradient"} <= set(words)
