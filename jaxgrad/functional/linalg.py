"""`torch.linalg`, name by name."""

from jaxgrad.functional.norms import linalg_norm as _linalg_norm
from jaxgrad.functional.norms import matrix_norm as matrix_norm
from jaxgrad.functional.norms import vector_norm as vector_norm


norm = _linalg_norm
