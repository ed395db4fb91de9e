"""`jaxgrad.optim.adadelta` matches `torch.optim.Adadelta`."""

from tests.jaxgrad.optim.shared import ElementwiseTests


class TestAdadelta(ElementwiseTests):
    name = "adadelta"
