"""torch's learning rate schedulers as pure functions of the step.

Each function takes the initial learning rate instead of an optimizer, then torch's arguments, and
returns a schedule `step -> learning rate`, which works wherever optax or `jaxgrad.optim` accepts
one. Schedules follow torch's step-by-step recursion, even where torch's closed form differs.
"""

from jaxgrad.optim.lr_scheduler._compose import chained_scheduler as chained_scheduler
from jaxgrad.optim.lr_scheduler._compose import sequential_lr as sequential_lr
from jaxgrad.optim.lr_scheduler._cosine import (
    cosine_annealing_lr as cosine_annealing_lr,
)
from jaxgrad.optim.lr_scheduler._cosine import (
    cosine_annealing_warm_restarts as cosine_annealing_warm_restarts,
)
from jaxgrad.optim.lr_scheduler._cosine import swalr as swalr
from jaxgrad.optim.lr_scheduler._cyclic import cyclic_lr as cyclic_lr
from jaxgrad.optim.lr_scheduler._decay import constant_lr as constant_lr
from jaxgrad.optim.lr_scheduler._decay import exponential_lr as exponential_lr
from jaxgrad.optim.lr_scheduler._decay import linear_lr as linear_lr
from jaxgrad.optim.lr_scheduler._decay import polynomial_lr as polynomial_lr
from jaxgrad.optim.lr_scheduler._factor import lambda_lr as lambda_lr
from jaxgrad.optim.lr_scheduler._factor import multi_step_lr as multi_step_lr
from jaxgrad.optim.lr_scheduler._factor import multiplicative_lr as multiplicative_lr
from jaxgrad.optim.lr_scheduler._factor import step_lr as step_lr
from jaxgrad.optim.lr_scheduler._one_cycle import one_cycle_lr as one_cycle_lr
from jaxgrad.optim.lr_scheduler._plateau import reduce_lr_on_plateau as reduce_lr_on_plateau
from jaxgrad.optim.lr_scheduler._schedule import Schedule as Schedule
