"""A lane with too many operations is folded into fewer boxes."""

import pytest

from jaxgrad.graph import Setting, backward_graph, side_by_side
from jaxgrad.graph._fold import Box, Diagram, fold
from jaxgrad.graph._runs import assign_all
from parity_tests.case import load
from parity_tests.pictures import draw_case as pictures
from tests.jaxgrad.graph.programs import X, loss, net, texts


CASES = load()


def boxes_of(diagram: Diagram, lane: str) -> list[Box]:
    """Return the boxes of a lane in the order of the diagram."""
    return [box for box in diagram.boxes.values() if diagram.lanes[box.lane] == lane]


def test_equations_that_only_rearrange_have_no_box_unless_asked_for():
    """Transposes, reshapes and sums over axes of length 1 are part of the box that feeds them."""
    graph = backward_graph(loss, net(6, 4, 1), X)
    everything = fold(assign_all([graph]), 1, lambda lane: 99, 9, rearranging=True)
    fewer = fold(assign_all([graph]), 1, lambda lane: 99, 9)

    assert any(box.is_relayout for box in everything.boxes.values())
    assert not any(box.is_relayout for box in fewer.boxes.values())
    assert sorted(box.text for box in boxes_of(fewer, "l2")) == ["dot", "dot", "reduce_sum"]
    assert sorted(box.text for box in boxes_of(everything, "l2")) == [
        "T", "T", "dot", "dot", "expand", "reduce_sum", "reduce_sum", "reshape",
    ]  # fmt: skip


def test_a_lane_that_is_still_too_full_becomes_one_box():
    """With a limit of one box and one badge, a lane has one folded box and a badge with a count."""
    graph = backward_graph(loss, net(6, 4, 1), X)
    diagram = fold(assign_all([graph]), 1, lambda lane: 1, 1)

    for lane in ("l1", "l2"):
        (box,) = boxes_of(diagram, lane)
        assert box.folded and len(box.members) > 2
        (badge,) = [b for b in diagram.badges.values() if diagram.lanes[b.lane] == lane]
        assert badge.text == "all"


@pytest.mark.slow
def test_a_cut_inside_a_folded_box_is_shown():
    """Both cuts of the critic's loss in S0-16 are drawn although their operations are folded."""
    stopped = pictures.settings(CASES["actor_critic/critic_loss"])["stopped"]
    svg = side_by_side({"": Setting(jax=stopped.jax)})
    assert texts(svg).count("stop_gradient") == 2
    svg = side_by_side({"": Setting(torch=stopped.torch)})
    assert texts(svg).count("detach") == 2


def test_a_gradient_reversal_keeps_its_box_in_a_lane_with_few_boxes():
    """The rest of the lane shares a box; the reversal is what the case is about."""
    rows = pictures.settings(CASES["surrogate/gradient_reversal"])
    graphs = [row.jax for row in rows.values() if row.jax is not None]
    few, one = (fold(assign_all(graphs), 1, lambda lane, n=n: n, 1) for n in (2, 1))

    assert "reverse" in [box.text for box in few.boxes.values()]
    assert "reverse" not in [box.text for box in one.boxes.values()]
