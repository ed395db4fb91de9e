"""`jaxgrad.optim.sgd` matches `torch.optim.SGD`."""

from tests.jaxgrad.optim.shared import ElementwiseTests


class TestSGD(ElementwiseTests):
    name = "sgd"
