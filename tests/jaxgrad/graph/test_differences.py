"""A setting is compared with the one that it should equal, edge by edge."""

import math
import re

import jax
import jax.numpy as jnp

from jaxgrad.graph import Setting, backward_graph, side_by_side
from jaxgrad.graph._differences import MISSING, WRONG, differing
from jaxgrad.graph._panels import fit
from tests.jaxgrad.graph.reading import collisions
from tests.jaxgrad.graph.reading import edges as edges_of


X = jnp.arange(3.0)


def graph(stop):
    return backward_graph(lambda x: jnp.sum(jnp.sin(x) * stop(x)), X)


def edges(here, expected):
    """Return the different edges by the names of their boxes."""
    (panel,) = fit([{"here": here, "expected": expected}]).panels
    view, other = panel.views["here"], panel.views["expected"]
    diagram = panel.diagram
    found = differing(diagram, view, other)

    def name(key):
        return diagram.boxes[key].text if key in diagram.boxes else "x"

    return {(name(a), name(b), word) for (a, b), word in found.items()}


def test_equal_graphs_do_not_differ():
    """The same graph twice has no wrong and no missing edge."""
    assert edges(graph(lambda x: x), graph(lambda x: x)) == set()


def test_a_gradient_that_should_be_stopped_is_wrong_and_the_sum_is_not():
    """Only the path through the second factor is wrong; the sum of both paths is JAX's own."""
    found = edges(graph(lambda x: x), graph(jax.lax.stop_gradient))

    assert {word for *_, word in found} == {WRONG}
    assert ("mul", "add_any", WRONG) in found
    assert not any(a == "add_any" for a, *_ in found)


def test_a_gradient_that_is_stopped_by_mistake_is_missing():
    """The same pair the other way around has only missing edges."""
    found = edges(graph(jax.lax.stop_gradient), graph(lambda x: x))

    assert {word for *_, word in found} == {MISSING}


def test_a_picture_labels_differences_only_if_a_row_is_expected():
    """Without `expected` nothing is red; with it, the first wrong edge has the word beside it."""
    wrong = backward_graph(lambda x: jnp.sum(x**2), X)
    right = backward_graph(lambda x: jnp.sum(jnp.sin(x) ** 2), X)

    def words(expected):
        rows = {"a": Setting(jax=wrong, expected=expected), "b": right}
        return re.findall(r">(wrong path|missing path|not stopped)<", side_by_side(rows))

    assert words("") == [] and sorted(words("b")) == ["missing path", "wrong path"]


def test_a_gradient_that_is_not_stopped_is_labelled_where_the_scissors_are():
    """The word of the one row and the scissors of the other are at the same place of the layout."""
    rows = {
        "a": Setting(jax=graph(lambda x: x), expected="b"),
        "b": Setting(jax=graph(jax.lax.stop_gradient)),
    }
    svg = side_by_side(rows, width=600)
    (word,) = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*>not stopped<', svg)
    *_, scissors = re.findall(r'class="cut sc" transform="translate\(([\d.]+) ([\d.]+)\)"', svg)
    (x, y), (at, _) = map(float, word), map(float, scissors)

    assert abs(x - at) < 70
    assert min(math.dist((x, y - 4), point) for point in edges_of(svg, "bad")) < 30
    assert ">wrong path<" not in svg and collisions(svg) == []


def test_an_empty_vjp_has_no_gradient_flowing():
    """The gradient of `round` is zero, so no operation is on the path of the loss."""
    dead = backward_graph(lambda x: jnp.sum(jnp.round(x) ** 2), X)
    alive = backward_graph(lambda x: jnp.sum(x**2), X)

    assert {word for *_, word in edges(dead, alive)} == {MISSING}
    assert "not in the VJP" in side_by_side({"": dead})
