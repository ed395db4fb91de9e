"""torch.optim as pure functions."""

from jaxgrad.optim import lr_scheduler as lr_scheduler
