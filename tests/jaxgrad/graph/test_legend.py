"""The legend explains the marks that no word in the picture explains, and no others."""

import re

import jax.numpy as jnp
import torch
from jax import lax

from jaxgrad.graph import Setting, backward_graph, side_by_side
from jaxgrad.parity.torch_graph import record
from tests.jaxgrad.graph.programs import X, loss, net, texts, torch_step


RECORDED, ABSENT, CUT = (
    "recorded, but not reached",
    "no backward step",
    "gradient stopped",
)
CUTS = (lambda w: w, lax.stop_gradient)


def test_what_a_word_in_the_picture_explains_is_not_in_the_legend():
    """A header says that a module is cut off, and a word beside the scissors what stops it."""
    words = {cut: texts(side_by_side({"": torch_step(cut)})) for cut in ("", "detach", "no_grad")}

    assert "recorded, not reached" in words["detach"] and "stopped by detach" in words["detach"]
    assert "not recorded" in words["no_grad"] and "stopped by no_grad" in words["no_grad"]
    for shown in words.values():
        assert not {RECORDED, ABSENT, CUT, "no ∇", "raises"} & set(shown)
        assert "on the path of the loss" not in shown


def test_a_dotted_box_of_a_module_with_gradients_is_explained():
    """Its header says nothing, so the legend does; a box on the path needs no entry."""
    w = jnp.ones((3, 3))

    def partly(w):
        return jnp.sum(lax.stop_gradient(jnp.sin(w)) * w + jnp.cos(w))

    def plain(w):
        return jnp.sum(jnp.sin(w) * w + jnp.cos(w))

    rows = {
        "plain": Setting(jax=backward_graph(plain, w)),
        "stop": Setting(jax=backward_graph(partly, w)),
    }
    words = texts(side_by_side(rows))
    assert ABSENT in words and "on the path of the loss" not in words
    assert ABSENT not in texts(side_by_side({"plain": rows["plain"]}))


def test_boxes_that_are_not_reached_are_labelled_where_the_header_does_not_say_it():
    """A module with one detached call still has gradients, so a label marks that call alone."""
    layer, x = torch.nn.Linear(2, 1), torch.ones(3, 2)

    def target(detach):
        after = layer(2 * x)
        ((layer(x) - (after.detach() if detach else after)) ** 2).sum().backward()

    words = {}
    for detach in (True, False):
        (graph,) = record(target, detach)
        words[detach] = texts(side_by_side({"": Setting(graph)}))

    assert words[True].count("not reached") == 1 and "not reached" not in words[False]
    assert not any(RECORDED in text for text in words[True])


def test_a_picture_has_a_short_legend():
    """A step of two layers, with a stop, needs few entries in both frameworks."""
    graph = backward_graph(loss, net(6, 4, 1), X)
    svg = side_by_side({"": Setting(torch_step("detach"), graph)})

    assert 2 <= len(re.findall('class="dim s">', svg)) <= 5


def test_names_that_torch_does_not_have_are_explained():
    """The legend explains `add_any`; `dot` and `expand` are words of torch."""
    words = texts(side_by_side({"": backward_graph(loss, net(6, 4, 1), X)}))
    assert {"add_any: sum of gradients", "dot", "expand"} <= set(words)
    assert not any(text.startswith(("dot:", "expand:")) for text in words)
    plain = texts(side_by_side({"": backward_graph(lambda w: jnp.sum(w**2), jnp.ones(3))}))
    assert not any("sum of gradients" in text for text in plain)


def test_a_verdict_replaces_the_entry_of_a_difference():
    """Red marks are explained by the verdict beside the row's name, or else by the legend."""
    wrong, right = (backward_graph(lambda w, s=s: jnp.sum(s(w) * w), jnp.ones(3)) for s in CUTS)

    def words(verdict):
        row = Setting(jax=wrong, expected="right", verdict=verdict)
        return texts(side_by_side({"wrong": row, "right": Setting(jax=right)}))

    assert "differs" in words("") and "differs" not in words("✗ differs from torch")


def test_a_gradient_that_is_not_applied_is_explained():
    """A badge of a gradient that no optimizer applies is in the legend; one of zeros has a 0."""
    graph = torch_step()
    noted = graph.with_leaves({"l2.bias": 0.0}, {"l1.bias": "computed, not applied"})
    words = texts(side_by_side({"": Setting(noted)}))
    assert {"∇ not applied", "∇bias 0", "∇ norm"} <= set(words)
