"""`torch.linalg`, name by name."""

from jaxgrad.functional.decompositions import cholesky as cholesky
from jaxgrad.functional.decompositions import eig as eig
from jaxgrad.functional.decompositions import eigh as eigh
from jaxgrad.functional.decompositions import eigvals as eigvals
from jaxgrad.functional.decompositions import eigvalsh as eigvalsh
from jaxgrad.functional.decompositions import qr as qr
from jaxgrad.functional.decompositions import svd as svd
from jaxgrad.functional.decompositions import svdvals as svdvals
from jaxgrad.functional.factors import householder_product as householder_product
from jaxgrad.functional.factors import lu as lu
from jaxgrad.functional.factors import lu_factor as lu_factor
from jaxgrad.functional.factors import lu_solve as lu_solve
from jaxgrad.functional.matrices import cond as cond
from jaxgrad.functional.matrices import cross as cross
from jaxgrad.functional.matrices import det as det
from jaxgrad.functional.matrices import inv as inv
from jaxgrad.functional.matrices import lstsq as lstsq
from jaxgrad.functional.matrices import matrix_exp as matrix_exp
from jaxgrad.functional.matrices import matrix_power as matrix_power
from jaxgrad.functional.matrices import matrix_rank as matrix_rank
from jaxgrad.functional.matrices import multi_dot as multi_dot
from jaxgrad.functional.matrices import pinv as pinv
from jaxgrad.functional.matrices import slogdet as slogdet
from jaxgrad.functional.matrices import solve as solve
from jaxgrad.functional.matrices import solve_triangular as solve_triangular
from jaxgrad.functional.matrices import vander as vander
from jaxgrad.functional.matrices import vecdot as vecdot
from jaxgrad.functional.norms import linalg_norm as _linalg_norm
from jaxgrad.functional.norms import matrix_norm as matrix_norm
from jaxgrad.functional.norms import vector_norm as vector_norm
from jaxgrad.functional.products import matmul as matmul
from jaxgrad.functional.tensors import tensorinv as tensorinv
from jaxgrad.functional.tensors import tensorsolve as tensorsolve


norm = _linalg_norm
