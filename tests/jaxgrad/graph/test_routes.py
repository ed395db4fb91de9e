"""The curves of edges start at their box and end side by side at a badge."""

from typing import Any

from jaxgrad.graph._layout import Rect
from jaxgrad.graph._routes import routes


BOXES: Any = {"a": Rect(0, 0, 40, 20), "b": Rect(60, 0, 40, 20), "c": Rect(60, 40, 40, 20)}
ENDS: Any = dict.fromkeys(BOXES, 120.0)


def _routes(edges: Any, badges: Any, tracks: Any) -> Any:
    return routes(edges, BOXES, badges, tracks, ENDS)


def test_an_edge_to_the_left_is_straight():
    """Boxes in one row are joined by a horizontal line."""
    (route,) = _routes([("b", "a")], {}, {}).values()

    assert route.d == "M60 10H45" and route.points[-1] == (40.0, 10.0)


def test_two_gradients_of_a_badge_end_side_by_side():
    """Both arrowheads are on the badge, and none covers the other."""
    badges: Any = {"x": Rect(0, 90, 80, 24)}
    found = _routes([("a", "x"), ("c", "x")], badges, {})
    (x1, y1), (x2, y2) = (route.points[-1] for route in found.values())

    assert y1 == y2 == 90
    assert 0 < x1 < x2 < 80 and x2 - x1 >= 14


def test_an_edge_on_a_track_does_not_cross_the_box_above_its_source():
    """An edge on a track leaves its source to the left, around the box above it."""
    edge: Any = ("c", "a")
    (route,) = _routes([edge], {}, {edge: -10.0}).values()
    b = BOXES["b"]

    assert not any(b.x < x < b.right and b.y < y < b.y + b.h for x, y in route.points)


def test_a_dead_use_is_drawn_beside_the_live_one():
    """The shifted route ends at the same height, and has another x."""
    badges: Any = {"x": Rect(0, 60, 40, 24)}
    (route,) = _routes([("a", "x")], badges, {}).values()
    dead = route.shifted(18, 9)

    assert dead.points[-1] == (route.points[-1][0] + 18, 60.0)
