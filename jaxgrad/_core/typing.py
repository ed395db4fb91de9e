"""The types of public signatures."""

from __future__ import annotations

from typing import Any

import jax
import optax
from jax.typing import ArrayLike as ArrayLike
from jax.typing import DTypeLike as DTypeLike


Array = jax.Array
PyTree = Any  # a tree of dicts, lists, tuples and registered nodes; its leaves are mostly arrays
ScalarOrSchedule = ArrayLike | optax.Schedule  # a number, or a function of the step count
