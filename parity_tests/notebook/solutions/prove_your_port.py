"""Exercises of the notebook prove_your_port."""

import jax
import numpy as np
import torch

from jaxgrad.parity import prove


def default_of_gelu():
    """This port of `Linear` and `GELU` agrees with torch to three digits. Let `prove` name the
    layer that differs, and correct the port with one argument."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.GELU())
    params = {name: p.numpy().copy() for name, p in net.state_dict().items()}
    inputs = (np.array([[1.0, -0.5], [0.2, 2.0]]),)

    def differs(params, x):
        return jax.nn.gelu(x @ params["0.weight"].T + params["0.bias"])

    def port(params, x):
        h = x @ params["0.weight"].T + params["0.bias"]
        return jax.nn.gelu(h, approximate=False)  # the default is an approximation by tanh

    report = prove(net, differs, params, inputs)
    assert report.first and report.first.surface == "forward"
    print(report.first.where, report.first.cause, sep="\n")
    prove(net, port, params, inputs).check()
