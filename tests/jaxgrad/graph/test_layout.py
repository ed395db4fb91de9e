"""Boxes and badges have the same coordinates in all settings, and do not overlap."""

import itertools
import re

from jax import lax

from jaxgrad.graph import backward_graph, side_by_side
from jaxgrad.graph._fold import fold
from jaxgrad.graph._layout import arrange
from jaxgrad.graph._runs import assign_all
from tests.jaxgrad.graph.programs import X, drawn, loss, net


def test_one_layout_for_all_settings():
    """A box has the same coordinates in every row, whether it is drawn in full or as an outline."""
    plain = backward_graph(loss, net(6, 4, 1), X)
    stopped = backward_graph(lambda p: loss(p, X, lax.stop_gradient), net(6, 4, 1))
    svg = side_by_side({"plain": plain, "stopped": stopped})
    rows = drawn(svg).split('class="rule"')[1:]
    places = [re.findall(r'<rect x="([\d.]+)"', row) for row in rows]

    assert len(places) == 2 and sorted(places[0])[:20] == sorted(places[1])[:20]
    assert drawn(side_by_side({"": plain})) != drawn(side_by_side({"": stopped}))


def test_rectangles_do_not_overlap_and_gradients_flow_left():
    """Every edge runs left or down, and no two boxes or badges overlap."""
    diagram = fold(assign_all([backward_graph(loss, net(6, 4, 1), X)]), 1, lambda lane: 99, 9)
    layout = arrange(diagram)
    rects = [*layout.boxes.values(), *layout.badges.values()]

    assert not any(a.meets(b) for a, b in itertools.combinations(rects, 2))
    for source, target in diagram.edges:
        if target in layout.boxes:
            assert layout.boxes[target].right < layout.boxes[source].x
        else:
            assert layout.badges[target].y > layout.boxes[source].y


def test_a_lane_keeps_the_place_that_it_is_given():
    """A lane with a prescribed left edge and width is placed exactly there."""
    diagram = fold(assign_all([backward_graph(loss, net(6, 4, 1), X)]), 1, lambda lane: 99, 9)
    places = {"l1": (10.0, 600.0), "l2": (700.0, 500.0), "loss": (1300.0, 400.0)}
    lanes = arrange(diagram, places).lanes

    assert [(lane.x, lane.w) for lane in lanes] == list(places.values())
