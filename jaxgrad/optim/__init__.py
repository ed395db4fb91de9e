"""torch's optimizers as optax transformations: torch's names, arguments, defaults and state."""

from jaxgrad.optim._transformation import Transformation as Transformation
from jaxgrad.optim.adadelta import adadelta as adadelta
from jaxgrad.optim.adagrad import adagrad as adagrad
from jaxgrad.optim.adam import adam as adam
from jaxgrad.optim.adam import adamw as adamw
from jaxgrad.optim.adamax import adamax as adamax
from jaxgrad.optim.asgd import asgd as asgd
from jaxgrad.optim.nadam import nadam as nadam
from jaxgrad.optim.radam import radam as radam
from jaxgrad.optim.rmsprop import rmsprop as rmsprop
from jaxgrad.optim.rprop import rprop as rprop
from jaxgrad.optim.sgd import sgd as sgd
