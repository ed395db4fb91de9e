"""`jaxgrad.optim.rprop` matches `torch.optim.Rprop`."""

from tests.jaxgrad.optim.shared import ElementwiseTests


class TestRprop(ElementwiseTests):
    name = "rprop"
