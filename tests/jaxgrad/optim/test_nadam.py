"""`jaxgrad.optim.nadam` matches `torch.optim.NAdam`."""

from tests.jaxgrad.optim.shared import ElementwiseTests


class TestNAdam(ElementwiseTests):
    name = "nadam"
