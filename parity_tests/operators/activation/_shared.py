"""Calls, arrays and strategies that several records of `activation` share."""

import numpy as np

from parity_tests.operators import call


inf, nan = np.inf, np.nan
SPECIAL = [0.0, -0.0, inf, -inf, 1e-300, -1e-300, 1e-8, -1e-8, 1e155, -1e155]
SMOOTH = [0.0, -0.0, inf, -inf, 1e-300, -1e-8, 1.0, -1.0, 3.0, -3.0, 10.0, -10.0, 30.0, -30.0]
# torch's vectorised loop and its scalar tail differ at NaN; small arrays use only the tail.
MANY = np.full(32, np.nan)
LOOP = "torch's vectorised loop takes another branch at NaN than its scalar tail, which JAX matches"
NAN = call([nan])  # alone: at NaN, torch's value may depend on the element's position
EMPTY = np.zeros((0, 3))
