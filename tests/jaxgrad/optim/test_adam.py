"""`jaxgrad.optim.adam` and `adamw` match `torch.optim.Adam` and `AdamW`."""

from tests.jaxgrad.optim.shared import ElementwiseTests


class TestAdam(ElementwiseTests):
    name = "adam"


class TestAdamW(ElementwiseTests):
    name = "adamw"
