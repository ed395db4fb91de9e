"""The one place that walks or evaluates jaxprs.

| file          | one idea                                                                      |
|---------------|-------------------------------------------------------------------------------|
| `bodies.py`   | the jaxprs inside an equation, and how they are wired to its inputs and outputs |
| `tracing.py`  | a function becomes a jaxpr; every equation inside it has a path               |
| `liveness.py` | which inputs can a derivative of the outputs reach? to a fixpoint in loops    |
| `evaluate.py` | run a jaxpr again with a rule for each equation: its structure stays          |
| `taps.py`     | read values out, or give them a slot whose gradient is their cotangent        |
| `tags.py`     | names on values: where a program asks for the gradient of an intermediate     |
| `residuals.py`| what the backward pass keeps of the forward pass                              |

A *path* is a tuple of numbers: the equation, then which of its jaxprs, then the equation in there,
and so on: `(3, 0, 2)` is equation 2 in the first jaxpr of equation 3. Clients: `backward`,
`precision`, `checkpointing`, `graph` and the port prover.
"""

from jaxgrad._core.jaxpr.bodies import Body as Body
from jaxgrad._core.jaxpr.bodies import bodies as bodies
from jaxgrad._core.jaxpr.bodies import inner as inner
from jaxgrad._core.jaxpr.evaluate import evaluate as evaluate
from jaxgrad._core.jaxpr.evaluate import plain as plain
from jaxgrad._core.jaxpr.liveness import live_inputs as live_inputs
from jaxgrad._core.jaxpr.liveness import live_leaves as live_leaves
from jaxgrad._core.jaxpr.liveness import live_variables as live_variables
from jaxgrad._core.jaxpr.residuals import GIVEN as GIVEN
from jaxgrad._core.jaxpr.residuals import PACK as PACK
from jaxgrad._core.jaxpr.residuals import Residual as Residual
from jaxgrad._core.jaxpr.residuals import Source as Source
from jaxgrad._core.jaxpr.residuals import residuals as residuals
from jaxgrad._core.jaxpr.residuals import sources as sources
from jaxgrad._core.jaxpr.tags import retained_p as retained_p
from jaxgrad._core.jaxpr.tags import tags as tags
from jaxgrad._core.jaxpr.taps import slot_shape as slot_shape
from jaxgrad._core.jaxpr.taps import tap as tap
from jaxgrad._core.jaxpr.taps import with_taps as with_taps
from jaxgrad._core.jaxpr.tracing import CLOSED as CLOSED
from jaxgrad._core.jaxpr.tracing import Path as Path
from jaxgrad._core.jaxpr.tracing import Place as Place
from jaxgrad._core.jaxpr.tracing import Traced as Traced
from jaxgrad._core.jaxpr.tracing import abstract as abstract
from jaxgrad._core.jaxpr.tracing import trace as trace
from jaxgrad._core.jaxpr.tracing import walk as walk
from jaxgrad._core.tree import is_inexact as is_inexact
