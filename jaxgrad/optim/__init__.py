"""torch's optimizers as optax transformations: torch's names, arguments, defaults and state."""

from jaxgrad.optim._transformation import Transformation as Transformation
from jaxgrad.optim.adam import adam as adam
from jaxgrad.optim.adam import adamw as adamw
from jaxgrad.optim.sgd import sgd as sgd
