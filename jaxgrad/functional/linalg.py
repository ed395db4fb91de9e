"""`torch.linalg`, name by name."""

from jaxgrad.functional.cholesky_factors import cholesky as cholesky
from jaxgrad.functional.decompositions import householder_product as householder_product
from jaxgrad.functional.decompositions import qr as qr
from jaxgrad.functional.decompositions import svd as svd
from jaxgrad.functional.decompositions import svdvals as svdvals
from jaxgrad.functional.determinants import det as det
from jaxgrad.functional.determinants import slogdet as slogdet
from jaxgrad.functional.eigenvalues import eig as eig
from jaxgrad.functional.eigenvalues import eigh as eigh
from jaxgrad.functional.eigenvalues import eigvals as eigvals
from jaxgrad.functional.eigenvalues import eigvalsh as eigvalsh
from jaxgrad.functional.factors import lu as lu
from jaxgrad.functional.factors import lu_factor as lu_factor
from jaxgrad.functional.factors import lu_solve as lu_solve
from jaxgrad.functional.inverses import cond as cond
from jaxgrad.functional.inverses import inv as inv
from jaxgrad.functional.inverses import matrix_rank as matrix_rank
from jaxgrad.functional.inverses import pinv as pinv
from jaxgrad.functional.matrix_functions import matrix_exp as matrix_exp
from jaxgrad.functional.matrix_functions import matrix_power as matrix_power
from jaxgrad.functional.matrix_functions import vander as vander
from jaxgrad.functional.norms import linalg_norm as _linalg_norm
from jaxgrad.functional.norms import matrix_norm as matrix_norm
from jaxgrad.functional.products import matmul as matmul
from jaxgrad.functional.products import multi_dot as multi_dot
from jaxgrad.functional.systems import lstsq as lstsq
from jaxgrad.functional.systems import solve as solve
from jaxgrad.functional.systems import solve_triangular as solve_triangular
from jaxgrad.functional.tensors import tensorinv as tensorinv
from jaxgrad.functional.tensors import tensorsolve as tensorsolve
from jaxgrad.functional.vector_norms import vector_norm as vector_norm
from jaxgrad.functional.vector_products import cross as cross
from jaxgrad.functional.vector_products import vecdot as vecdot
from jaxgrad.functional.with_info import cholesky_ex as cholesky_ex
from jaxgrad.functional.with_info import inv_ex as inv_ex
from jaxgrad.functional.with_info import lu_factor_ex as lu_factor_ex
from jaxgrad.functional.with_info import solve_ex as solve_ex


norm = _linalg_norm
