"""Checks of the exercises in the notebook port_a_model."""

import numpy as np
import torch

import jaxgrad
from parity_tests.notebook.check import holds


def without_item(module):
    inputs = (np.array([[1.0, -3.0], [0.5, 2.0]], np.float32),)
    x = torch.tensor(inputs[0])
    yield "the result for numbers up to 3", module(x), x / 3
    yield "the result for numbers below 1", module(x / 4), x / 4
    ported = jaxgrad.port(module, inputs)
    proved = holds(ported.report, "`port` writes the module, but its proof fails")
    yield "`port` writes the module and proves it", proved, True
