"""Boxes of the main path are in row 0; boxes that serve one parameter are below it."""

from jaxgrad.graph import backward_graph
from jaxgrad.graph._fold import fold
from jaxgrad.graph._grid import grid
from jaxgrad.graph._runs import assign_all
from tests.jaxgrad.graph.programs import X, loss, net


def test_each_parameter_has_a_row_below_the_main_one():
    """The path to the previous layer is in row 0; weight and bias have one row each below it."""
    diagram = fold(assign_all([backward_graph(loss, net(6, 4, 1), X)]), 1, lambda lane: 99, 9)
    columns, rows = grid(diagram)
    lane = diagram.lanes.index("l2")
    mine = {key: box.text for key, box in diagram.boxes.items() if box.lane == lane}
    assert sorted((rows[key], text) for key, text in mine.items()) == [
        (0, "dot"), (1, "dot"), (2, "reduce_sum"),
    ]  # fmt: skip
    ends = sorted((rows[key], columns[key]) for key in mine if rows[key])
    assert ends[0][1] > ends[1][1], "a chain ends left of the chain below it"
