"""torch's layers as flax nnx modules, with its names, defaults, running statistics and state dicts.

Channels come first, as in torch. `model.train()` and `model.eval()` are flax's own methods. `rngs=`
provides the keys for torch's initialisers and for dropout. Parameters have torch's names, so
`load_state_dict(model, torch_model.state_dict())` needs no translation of keys.
This package imports flax; `import jaxgrad` does not.

| file                  | contents                                                              |
|-----------------------|-----------------------------------------------------------------------|
| `module.py`           | the base class of all layers: training mode, parameters, buffers      |
| `norms.py`            | normalisation, with torch's update of running statistics              |
| `linears.py`          | linear and bilinear layers, embeddings                                |
| `convolutions.py`     | convolutions and transposed convolutions                              |
| `dropouts.py`         | dropouts, which draw keys from a stream                               |
| `recurrent.py`        | RNN, GRU and LSTM; `recurrent_cells.py` has their single steps        |
| `attention.py`        | multi-head attention                                                  |
| `parametrizations.py` | spectral_norm and weight_norm                                         |
| `init.py`             | torch's initialisers                                                  |
| `loading.py`          | loading and saving torch state dicts                                  |
"""

from jaxgrad.nnx import init as init
from jaxgrad.nnx.attention import MultiheadAttention as MultiheadAttention
from jaxgrad.nnx.convolutions import Conv1d as Conv1d
from jaxgrad.nnx.convolutions import Conv2d as Conv2d
from jaxgrad.nnx.convolutions import Conv3d as Conv3d
from jaxgrad.nnx.convolutions import ConvTranspose1d as ConvTranspose1d
from jaxgrad.nnx.convolutions import ConvTranspose2d as ConvTranspose2d
from jaxgrad.nnx.convolutions import ConvTranspose3d as ConvTranspose3d
from jaxgrad.nnx.dropouts import AlphaDropout as AlphaDropout
from jaxgrad.nnx.dropouts import Dropout as Dropout
from jaxgrad.nnx.dropouts import Dropout1d as Dropout1d
from jaxgrad.nnx.dropouts import Dropout2d as Dropout2d
from jaxgrad.nnx.dropouts import Dropout3d as Dropout3d
from jaxgrad.nnx.dropouts import FeatureAlphaDropout as FeatureAlphaDropout
from jaxgrad.nnx.linears import Bilinear as Bilinear
from jaxgrad.nnx.linears import Embedding as Embedding
from jaxgrad.nnx.linears import EmbeddingBag as EmbeddingBag
from jaxgrad.nnx.linears import Linear as Linear
from jaxgrad.nnx.loading import Incompatible as Incompatible
from jaxgrad.nnx.loading import load_state_dict as load_state_dict
from jaxgrad.nnx.loading import state_dict as state_dict
from jaxgrad.nnx.norms import BatchNorm1d as BatchNorm1d
from jaxgrad.nnx.norms import BatchNorm2d as BatchNorm2d
from jaxgrad.nnx.norms import BatchNorm3d as BatchNorm3d
from jaxgrad.nnx.norms import GroupNorm as GroupNorm
from jaxgrad.nnx.norms import InstanceNorm1d as InstanceNorm1d
from jaxgrad.nnx.norms import InstanceNorm2d as InstanceNorm2d
from jaxgrad.nnx.norms import InstanceNorm3d as InstanceNorm3d
from jaxgrad.nnx.norms import LayerNorm as LayerNorm
from jaxgrad.nnx.norms import RMSNorm as RMSNorm
from jaxgrad.nnx.parametrizations import spectral_norm as spectral_norm
from jaxgrad.nnx.parametrizations import weight_norm as weight_norm
from jaxgrad.nnx.recurrent import GRU as GRU
from jaxgrad.nnx.recurrent import LSTM as LSTM
from jaxgrad.nnx.recurrent import RNN as RNN
from jaxgrad.nnx.recurrent_cells import GRUCell as GRUCell
from jaxgrad.nnx.recurrent_cells import LSTMCell as LSTMCell
from jaxgrad.nnx.recurrent_cells import RNNCell as RNNCell
