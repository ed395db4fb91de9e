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
    first, fault = report.first, report.text
    if first:
        cause = (first.cause or first.text).partition(" (rerunning")[0]
        fault = (
            f"`prove` finds the first difference at `{first.where}` of the torch module: {cause}. "
            "Correct that part of `port`"
        )
    yield "`prove` finds no difference", holds(report.verdict == "pass", fault), True
