"""torch's operators with torch's names, defaults and gradient conventions, as JAX functions.

`torch.x` and `torch.nn.functional.x` are `functional.x`; `torch.linalg.x`, `torch.special.x` and
`torch.fft.x` are in the namespaces of the same names. `out=` and `inplace=` are left out.
"""

from jaxgrad.functional import fft as fft
from jaxgrad.functional import linalg as linalg
from jaxgrad.functional import special as special
from jaxgrad.functional.activations import celu as celu
from jaxgrad.functional.activations import elu as elu
from jaxgrad.functional.activations import gelu as gelu
from jaxgrad.functional.activations import glu as glu
from jaxgrad.functional.activations import hardshrink as hardshrink
from jaxgrad.functional.activations import hardsigmoid as hardsigmoid
from jaxgrad.functional.activations import hardswish as hardswish
from jaxgrad.functional.activations import hardtanh as hardtanh
from jaxgrad.functional.activations import leaky_relu as leaky_relu
from jaxgrad.functional.activations import log_softmax as log_softmax
from jaxgrad.functional.activations import logsigmoid as logsigmoid
from jaxgrad.functional.activations import mish as mish
from jaxgrad.functional.activations import prelu as prelu
from jaxgrad.functional.activations import relu as relu
from jaxgrad.functional.activations import relu6 as relu6
from jaxgrad.functional.activations import rrelu as rrelu
from jaxgrad.functional.activations import selu as selu
from jaxgrad.functional.activations import sigmoid as sigmoid
from jaxgrad.functional.activations import silu as silu
from jaxgrad.functional.activations import softmax as softmax
from jaxgrad.functional.activations import softmin as softmin
from jaxgrad.functional.activations import softplus as softplus
from jaxgrad.functional.activations import softshrink as softshrink
from jaxgrad.functional.activations import softsign as softsign
from jaxgrad.functional.activations import tanh as tanh
from jaxgrad.functional.activations import tanhshrink as tanhshrink
from jaxgrad.functional.activations import threshold as threshold
