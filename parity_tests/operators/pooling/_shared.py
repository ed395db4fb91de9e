"""Calls, arrays and strategies that several records of `pooling` share."""

import numpy as np
from hypothesis import strategies as st


REAL = ("float64", "float32")
SAME = np.ones((1, 1, 4))
ZEROS = [[[0.0, -0.0, -0.0, 0.0]]]


def image_shape(draw, places, side=5):
    batch = draw(st.sampled_from([(), (2,)]))
    return (*batch, 2, *[side - i for i in range(places)])


SQUARE = np.ones((1, 1, 4, 4))
