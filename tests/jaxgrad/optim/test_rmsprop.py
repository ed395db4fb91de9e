"""`jaxgrad.optim.rmsprop` matches `torch.optim.RMSprop`."""

from tests.jaxgrad.optim.shared import ElementwiseTests


class TestRMSprop(ElementwiseTests):
    name = "rmsprop"
