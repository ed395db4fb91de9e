"""torch.optim as pure functions."""

from jaxgrad.optim import lr_scheduler as lr_scheduler
from jaxgrad.optim import swa_utils as swa_utils
from jaxgrad.optim.clipping import clip_grad_norm as clip_grad_norm
from jaxgrad.optim.clipping import clip_grad_value as clip_grad_value
