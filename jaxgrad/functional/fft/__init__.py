"""The functions of `torch.fft`, under the same names."""

from jaxgrad.functional.fft.complex import fft as fft
from jaxgrad.functional.fft.complex import fft2 as fft2
from jaxgrad.functional.fft.complex import fftn as fftn
from jaxgrad.functional.fft.complex import fftshift as fftshift
from jaxgrad.functional.fft.complex import ifft as ifft
from jaxgrad.functional.fft.complex import ifft2 as ifft2
from jaxgrad.functional.fft.complex import ifftn as ifftn
from jaxgrad.functional.fft.complex import ifftshift as ifftshift
from jaxgrad.functional.fft.hermitian import hfft as hfft
from jaxgrad.functional.fft.hermitian import hfft2 as hfft2
from jaxgrad.functional.fft.hermitian import hfftn as hfftn
from jaxgrad.functional.fft.hermitian import ihfft as ihfft
from jaxgrad.functional.fft.hermitian import ihfft2 as ihfft2
from jaxgrad.functional.fft.hermitian import ihfftn as ihfftn
from jaxgrad.functional.fft.real import irfft as irfft
from jaxgrad.functional.fft.real import irfft2 as irfft2
from jaxgrad.functional.fft.real import irfftn as irfftn
from jaxgrad.functional.fft.real import rfft as rfft
from jaxgrad.functional.fft.real import rfft2 as rfft2
from jaxgrad.functional.fft.real import rfftn as rfftn


def __dir__() -> list[str]:
    """List the operators but not the submodules that define them."""
    return [name for name, value in globals().items() if callable(value) and name[0] != "_"]
