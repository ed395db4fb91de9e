"""Calls, arrays and strategies that several records of `activation` share."""

import numpy as np

from parity_tests.operators import call


inf, nan = np.inf, np.nan
SPECIAL = [0.0, -0.0, inf, -inf, 1e-300, -1e-300, 1e-8, -1e-8, 1e155, -1e155]
SMOOTH = [0.0, -0.0, inf, -inf, 1e-300, -1e-8, 1.0, -1.0, 3.0, -3.0, 10.0, -10.0, 30.0, -30.0]
# torch's vectorised loop and its tail, which is all there is of a few elements, differ at NaN.
MANY = np.full(32, np.nan)
LOOP = "torch's vectorised loop has another branch at NaN than its tail, as which ours is"
NAN = call([nan])  # alone: what torch has at NaN may depend on the place in an array
EMPTY = np.zeros((0, 3))
