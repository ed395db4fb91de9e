"""`jaxgrad.optim.adagrad` matches `torch.optim.Adagrad`."""

from tests.jaxgrad.optim.shared import ElementwiseTests


class TestAdagrad(ElementwiseTests):
    name = "adagrad"
