"""Tracing, analysis and evaluation of jaxprs: the only place that walks them.

| file           | one idea                                                                        |
|----------------|---------------------------------------------------------------------------------|
| `bodies.py`    | the jaxprs inside an equation, and how their inputs and outputs are wired       |
| `tracing.py`   | trace a function into a jaxpr, and identify each equation by a path             |
| `liveness.py`  | which inputs can a derivative of the outputs reach?                             |
| `evaluate.py`  | evaluate a jaxpr with a rule in place of each equation, keeping its structure   |
| `taps.py`      | read intermediate values, or compute their cotangents                           |
| `tags.py`      | the intermediate values that a program tags by name to ask for their gradients  |
| `residuals.py` | the residuals that the forward pass saves, and the operations that compute them |

A *path* is a tuple of numbers: the index of an equation, the index of one of its jaxprs, the index
of an equation in that jaxpr, and so on: `(3, 0, 2)` is equation 2 in the first jaxpr of equation 3.
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
