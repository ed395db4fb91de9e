"""The functions of `torch.linalg`, under the same names."""

from jaxgrad.functional.linalg.cholesky import cholesky as cholesky
from jaxgrad.functional.linalg.det import det as det
from jaxgrad.functional.linalg.det import slogdet as slogdet
from jaxgrad.functional.linalg.dot_outer_cross import cross as cross
from jaxgrad.functional.linalg.dot_outer_cross import vecdot as vecdot
from jaxgrad.functional.linalg.eig import eig as eig
from jaxgrad.functional.linalg.eig import eigh as eigh
from jaxgrad.functional.linalg.eig import eigvals as eigvals
from jaxgrad.functional.linalg.eig import eigvalsh as eigvalsh
from jaxgrad.functional.linalg.ex_variants import cholesky_ex as cholesky_ex
from jaxgrad.functional.linalg.ex_variants import inv_ex as inv_ex
from jaxgrad.functional.linalg.ex_variants import lu_factor_ex as lu_factor_ex
from jaxgrad.functional.linalg.ex_variants import solve_ex as solve_ex
from jaxgrad.functional.linalg.inv_pinv_rank import cond as cond
from jaxgrad.functional.linalg.inv_pinv_rank import inv as inv
from jaxgrad.functional.linalg.inv_pinv_rank import matrix_rank as matrix_rank
from jaxgrad.functional.linalg.inv_pinv_rank import pinv as pinv
from jaxgrad.functional.linalg.lu import lu as lu
from jaxgrad.functional.linalg.lu import lu_factor as lu_factor
from jaxgrad.functional.linalg.lu import lu_solve as lu_solve
from jaxgrad.functional.linalg.matmul_einsum import matmul as matmul
from jaxgrad.functional.linalg.matmul_einsum import multi_dot as multi_dot
from jaxgrad.functional.linalg.matrix_exp_power import matrix_exp as matrix_exp
from jaxgrad.functional.linalg.matrix_exp_power import matrix_power as matrix_power
from jaxgrad.functional.linalg.matrix_exp_power import vander as vander
from jaxgrad.functional.linalg.qr_svd import householder_product as householder_product
from jaxgrad.functional.linalg.qr_svd import qr as qr
from jaxgrad.functional.linalg.qr_svd import svd as svd
from jaxgrad.functional.linalg.qr_svd import svdvals as svdvals
from jaxgrad.functional.linalg.solve_lstsq import lstsq as lstsq
from jaxgrad.functional.linalg.solve_lstsq import solve as solve
from jaxgrad.functional.linalg.solve_lstsq import solve_triangular as solve_triangular
from jaxgrad.functional.linalg.tensorsolve import tensorinv as tensorinv
from jaxgrad.functional.linalg.tensorsolve import tensorsolve as tensorsolve
from jaxgrad.functional.reduction.norm_matrix_norm import linalg_norm as _linalg_norm
from jaxgrad.functional.reduction.norm_matrix_norm import matrix_norm as matrix_norm
from jaxgrad.functional.reduction.vector_norm_normalize import vector_norm as vector_norm


norm = _linalg_norm


def __dir__() -> list[str]:
    """List the operators but not the submodules that define them."""
    return [name for name, value in globals().items() if callable(value) and name[0] != "_"]
