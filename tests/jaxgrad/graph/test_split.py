"""A full lane is split by the settings that compute its operations."""

import re

import jax
import jax.numpy as jnp
from jax import lax

from jaxgrad.graph import Setting, _legend, backward_graph, side_by_side
from jaxgrad.graph._fold import fold, named
from jaxgrad.graph._runs import assign_all
from jaxgrad.graph._sheet import text_width
from tests.jaxgrad.graph.programs import texts


PARAMS = {"l1": {"w": jnp.ones((2, 2)), "b": jnp.ones(2)}}


def program(stop):
    """Return a loss that uses one layer twice; `stop` surrounds the second use."""

    def layer(p, x):
        return jnp.tanh(x @ p["w"] + p["b"])

    def loss(params):
        p, x = params["l1"], jnp.ones((1, 2))
        return jnp.sum((layer(p, x) - 0.9 * stop(layer(p, 2 * x))) ** 2)

    return loss


GRAPHS = {
    "wrong": backward_graph(program(lambda h: h), PARAMS),
    "right": backward_graph(program(lax.stop_gradient), PARAMS),
}


def test_operations_with_the_same_states_share_a_box():
    """One box contains the operations of both programs, the other only those of the wrong one."""
    diagram = fold(assign_all([*GRAPHS.values()]), 1, lambda lane: 2, 1)
    wrong, right = diagram.views

    boxes = [key for key, box in diagram.boxes.items() if diagram.lanes[box.lane] == "l1"]
    assert len(boxes) == 2
    assert [key for key in boxes if right.computed[key]] == [
        key for key in boxes if right.computed[key] == wrong.computed[key]
    ]
    assert sorted(bool(right.computed[key]) for key in boxes) == [False, True]


def test_a_sum_of_a_parameters_gradients_has_no_box():
    """What the sum adds leads to the badge itself, so neither box leads to the other."""
    diagram = fold(assign_all([*GRAPHS.values()]), 1, lambda lane: 2, 1)
    (badge,) = diagram.badges

    inside = [
        edge for edge in diagram.edges if {diagram.boxes[key].lane for key in edge[:1]} == {0}
    ]
    assert {target for _, target in inside} == {badge}
    assert len({source for source, _ in inside}) == 2


def test_a_box_says_how_many_operations_are_computed():
    """A lane in a single box has the number of this program, not that of all programs."""
    diagram = fold(assign_all([*GRAPHS.values()]), 1, lambda lane: 1, 1)
    svg = side_by_side({name: Setting(jax=graph) for name, graph in GRAPHS.items()}, width=1)

    computed = {f"{view.computed[key]} ops" for view in diagram.views for key in diagram.boxes}
    shown = set(re.findall(r"\d+ ops", " ".join(texts(svg))))
    assert shown == computed
    assert len(shown) > len(diagram.boxes)


def test_a_box_names_its_main_operations_if_there_is_room():
    """A wide picture names two main operations where a narrow one has the number of all."""
    rows = {name: Setting(jax=graph) for name, graph in GRAPHS.items()}
    wide, narrow = (texts(side_by_side(rows, width=width)) for width in (500, 300))

    assert "tanh, integer_pow" in wide and "tanh, integer_pow" not in narrow
    assert narrow.count("4 ops") > wide.count("4 ops")


def test_a_box_names_no_sums_and_no_layouts():
    """A dot product and its sum are named `dot`; four kinds of operations are counted."""

    def loss(params):
        w = params["few"]["w"]
        v = params["many"]["w"]
        h = jnp.tanh(v) * jnp.exp(v) + jnp.sin(v) / jnp.cosh(v)
        return jnp.sum((w @ jnp.ones((2, 2))).reshape(-1)) + jnp.sum(h)

    graph = backward_graph(loss, {name: {"w": jnp.ones((2, 2))} for name in ("few", "many")})
    folded = fold(assign_all([graph]), 1, lambda lane: 1, 1)
    diagram = named(folded, folded.boxes)

    shown = {diagram.lanes[box.lane]: box.text for box in diagram.boxes.values()}
    assert shown["few"] == "dot"
    assert re.fullmatch(r"\d+ ops", shown["many"])


def test_a_gradient_of_the_split_programs_is_compared():
    """The red edges and the cut of the two programs survive the split."""
    assert not jnp.allclose(
        jax.grad(program(lambda h: h))(PARAMS)["l1"]["b"],
        jax.grad(program(lax.stop_gradient))(PARAMS)["l1"]["b"],
    )
    svg = side_by_side(
        {
            "wrong": Setting(jax=GRAPHS["wrong"], expected="right"),
            "right": Setting(jax=GRAPHS["right"]),
        },
        width=300,
    )
    assert "not stopped" in texts(svg) and "stop_gradient" in texts(svg)


def test_a_long_entry_of_the_legend_is_wrapped(monkeypatch):
    """In a narrow picture no line of the legend is wider than the picture."""
    monkeypatch.setattr(_legend, "NORM", "a long entry " * 8)
    graph = backward_graph(lambda w: jnp.sum(w * w), jnp.ones(2))
    svg = side_by_side({"": Setting(jax=graph)}, width=120)
    width = float(re.findall(r'width="([\d.]+)"', svg)[0])
    legend = re.findall(r'<text x="([\d.]+)"[^>]*class="dim s"[^>]*>([^<]*)<', svg)

    assert sum("entry" in words for _, words in legend) > 1
    assert all(float(x) + text_width(words) <= width + 1 for x, words in legend)
