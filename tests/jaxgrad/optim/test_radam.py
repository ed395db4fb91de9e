"""`jaxgrad.optim.radam` matches `torch.optim.RAdam`."""

from tests.jaxgrad.optim.shared import ElementwiseTests


class TestRAdam(ElementwiseTests):
    name = "radam"
