"""`jaxgrad.optim.asgd` matches `torch.optim.ASGD`."""

from tests.jaxgrad.optim.shared import ElementwiseTests


class TestASGD(ElementwiseTests):
    name = "asgd"
