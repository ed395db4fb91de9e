"""Words and scissors are placed where nothing else is drawn."""

from jaxgrad.graph._layout import Rect
from jaxgrad.graph._marks import Marks


BOUNDS = Rect(0, 0, 200, 100)


def test_a_word_is_placed_beside_a_box_and_clear_of_an_edge():
    """The nearest free place is taken, and then belongs to the word."""
    marks = Marks(BOUNDS, [Rect(80, 40, 40, 20)])
    marks.points = [(float(x), 34.0) for x in range(0, 200, 4)]
    spot = marks.place([(100.0, 50.0)], "wrong")

    assert spot is not None and not spot.meets(Rect(80, 40, 40, 20))
    assert not spot.y - 3 < 34 < spot.y + spot.h + 3
    assert spot in marks.taken
    again = marks.place([(100.0, 50.0)], "wrong")
    assert again is not None and not again.meets(spot)


def test_a_word_without_room_has_no_place():
    """A picture that is full has no place for a word."""
    marks = Marks(BOUNDS, [BOUNDS])

    assert marks.place([(100.0, 50.0)], "wrong") is None


def test_scissors_avoid_boxes_and_live_edges():
    """The scissors are put on a point of the dead edge that is away from boxes and live edges."""
    marks = Marks(BOUNDS, [Rect(0, 40, 40, 20)])
    route = [(float(x), 50.0) for x in range(150, 40, -4)]
    live = [(60.0, float(y)) for y in range(0, 100, 4)]
    x, y = marks.on(route, live)

    assert (x, y) in route
    assert x - 40 >= 9 and abs(x - 60) >= 9


def test_a_word_is_not_placed_behind_another_edge():
    """A nearer place is behind an edge, which would seem to have the word."""
    marks = Marks(BOUNDS, [Rect(0, 0, 200, 47)])
    marks.points = marks.strong = [(float(x), 60.0) for x in range(60, 140, 4)]
    anchor, under = (100.0, 50.0), Rect(80, 65, 40, 13)

    assert marks.free(under) and marks.behind_an_edge(anchor, under)
    spot = marks.place([anchor], "wrong")
    assert spot is not None and not marks.behind_an_edge(anchor, spot)
    marks.strong = []  # an outline may be between them
    assert not marks.behind_an_edge(anchor, under)


def test_a_word_does_not_stick_out_to_the_left_of_the_boxes():
    """A place that begins at the left edge of the first box is taken before a nearer one."""
    anchor, boxes = (60.0, 50.0), [Rect(40, 20, 40, 20)]
    spot = Marks(BOUNDS, boxes).place([anchor], "stop_gradient")
    further = Marks(BOUNDS, [boxes[0]._replace(x=0), boxes[0]]).place([anchor], "stop_gradient")

    assert spot is not None and spot.x >= 40
    assert further is not None and further.x < 40, "the negative control: the nearer place"
