"""`torch.fft`, name by name."""

from jaxgrad.functional.fourier import fft as fft
from jaxgrad.functional.fourier import fft2 as fft2
from jaxgrad.functional.fourier import fftn as fftn
from jaxgrad.functional.fourier import fftshift as fftshift
from jaxgrad.functional.fourier import ifft as ifft
from jaxgrad.functional.fourier import ifft2 as ifft2
from jaxgrad.functional.fourier import ifftn as ifftn
from jaxgrad.functional.fourier import ifftshift as ifftshift
from jaxgrad.functional.hermitian_fourier import hfft as hfft
from jaxgrad.functional.hermitian_fourier import hfft2 as hfft2
from jaxgrad.functional.hermitian_fourier import hfftn as hfftn
from jaxgrad.functional.hermitian_fourier import ihfft as ihfft
from jaxgrad.functional.hermitian_fourier import ihfft2 as ihfft2
from jaxgrad.functional.hermitian_fourier import ihfftn as ihfftn
from jaxgrad.functional.real_fourier import irfft as irfft
from jaxgrad.functional.real_fourier import irfft2 as irfft2
from jaxgrad.functional.real_fourier import irfftn as irfftn
from jaxgrad.functional.real_fourier import rfft as rfft
from jaxgrad.functional.real_fourier import rfft2 as rfft2
from jaxgrad.functional.real_fourier import rfftn as rfftn
