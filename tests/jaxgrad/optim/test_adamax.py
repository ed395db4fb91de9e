"""`jaxgrad.optim.adamax` matches `torch.optim.Adamax`."""

from tests.jaxgrad.optim.shared import ElementwiseTests


class TestAdamax(ElementwiseTests):
    name = "adamax"
