"""Checks of the exercises in the notebook prove_your_port."""

import numpy as np
import torch

from jaxgrad.parity import prove
from parity_tests.notebook.check import holds


def default_of_gelu(port):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.GELU())
    params = {name: p.numpy().copy() for name, p in net.state_dict().items()}
    report = prove(net, port, params, (np.array([[1.0, -0.5], [0.2, 2.0]]),))
    fault = report.text
    if report.first:  # to find the layer is the exercise, so the reply does not name it
        fault = (
            "the output or a gradient of `port` differs from torch. Call `print(prove(layers, "
            "port, weights, points))`, read which layer the report names, and correct that part "
            "of `port`"
        )
    yield "`prove` finds no difference", holds(report.verdict == "pass", fault), True
