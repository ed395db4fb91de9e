"""torch's layers as flax nnx modules, with its names, defaults, running statistics and state dicts.

Channels come first, as in torch. `model.train()` and `model.eval()` are flax's own methods. `rngs=`
provides the keys for torch's initialisers and for dropout. Parameters have torch's names, so
`load_state_dict(model, torch_model.state_dict())` needs no translation of keys.
This package imports flax; `import jaxgrad` does not.

| file                       | contents                                                         |
|----------------------------|------------------------------------------------------------------|
| `module.py`                | the base class of all layers: training mode, parameters, buffers |
| `containers.py`            | Sequential, ModuleList and ModuleDict                            |
| `linears.py`               | linear and bilinear layers, embeddings                           |
| `convolutions.py`          | convolutions and transposed convolutions                         |
| `rectifiers.py`            | ReLU and its piecewise linear relatives; PReLU, RReLU            |
| `smooth_rectifiers.py`     | ELU, GELU, SiLU and other smooth relatives of ReLU               |
| `sigmoids.py`              | sigmoids, shrinkage and other activations                        |
| `softmax.py`               | softmax and its variants                                         |
| `norms.py`                 | normalisation, with torch's update of running statistics         |
| `dropouts.py`              | dropouts, which draw keys from a stream                          |
| `pooling.py`               | pooling with windows of a fixed size                             |
| `adaptive_pooling.py`      | pooling to a given number of windows                             |
| `fractional_pooling.py`    | max pooling at random places                                     |
| `unpooling.py`             | the inverse of max pooling                                       |
| `padding.py`               | padding layers                                                   |
| `reshaping.py`             | Identity, Flatten, Unflatten, Fold, Unfold                       |
| `resampling.py`            | Upsample, PixelShuffle, ChannelShuffle                           |
| `distances.py`             | distances, LocalResponseNorm                                     |
| `recurrent.py`             | RNN, GRU and LSTM; `recurrent_cells.py` has their single steps   |
| `attention.py`             | multi-head attention                                             |
| `transformer_layers.py`    | the layers of a transformer's encoder and decoder                |
| `transformers.py`          | stacks of these layers, and the whole transformer                |
| `classification_losses.py` | cross-entropies and CTC                                          |
| `margin_losses.py`         | losses with a margin between classes                             |
| `pair_losses.py`           | losses of pairs and triplets                                     |
| `regression_losses.py`     | losses of regression and of distributions                        |
| `adaptive_softmax.py`      | losses with a linear layer of their own                          |
| `parametrizations.py`      | spectral_norm and weight_norm                                    |
| `init.py`                  | torch's initialisers                                             |
| `loading.py`               | loading and saving torch state dicts                             |
| `flax_layers.py`           | torch's keys and layouts for flax's own layers                   |
| `versions.py`              | the layers with the gradients of another version of torch        |
"""

try:
    import flax as _flax  # noqa: F401  (its absence is the point)
except ModuleNotFoundError as _error:
    raise ModuleNotFoundError("jaxgrad.nnx needs flax: pip install flax", name="flax") from _error

import typing as _typing

from jaxgrad._core import suggestions as _suggestions
from jaxgrad.nnx import init as init
from jaxgrad.nnx.adaptive_pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from jaxgrad.nnx.adaptive_pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from jaxgrad.nnx.adaptive_pooling import AdaptiveAvgPool3d as AdaptiveAvgPool3d
from jaxgrad.nnx.adaptive_pooling import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from jaxgrad.nnx.adaptive_pooling import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from jaxgrad.nnx.adaptive_pooling import AdaptiveMaxPool3d as AdaptiveMaxPool3d
from jaxgrad.nnx.adaptive_softmax import AdaptiveLogSoftmaxWithLoss as AdaptiveLogSoftmaxWithLoss
from jaxgrad.nnx.adaptive_softmax import LinearCrossEntropyLoss as LinearCrossEntropyLoss
from jaxgrad.nnx.attention import MultiheadAttention as MultiheadAttention
from jaxgrad.nnx.classification_losses import BCELoss as BCELoss
from jaxgrad.nnx.classification_losses import BCEWithLogitsLoss as BCEWithLogitsLoss
from jaxgrad.nnx.classification_losses import CrossEntropyLoss as CrossEntropyLoss
from jaxgrad.nnx.classification_losses import CTCLoss as CTCLoss
from jaxgrad.nnx.classification_losses import NLLLoss as NLLLoss
from jaxgrad.nnx.containers import ModuleDict as ModuleDict
from jaxgrad.nnx.containers import ModuleList as ModuleList
from jaxgrad.nnx.containers import Sequential as Sequential
from jaxgrad.nnx.convolutions import Conv1d as Conv1d
from jaxgrad.nnx.convolutions import Conv2d as Conv2d
from jaxgrad.nnx.convolutions import Conv3d as Conv3d
from jaxgrad.nnx.convolutions import ConvTranspose1d as ConvTranspose1d
from jaxgrad.nnx.convolutions import ConvTranspose2d as ConvTranspose2d
from jaxgrad.nnx.convolutions import ConvTranspose3d as ConvTranspose3d
from jaxgrad.nnx.distances import CosineSimilarity as CosineSimilarity
from jaxgrad.nnx.distances import LocalResponseNorm as LocalResponseNorm
from jaxgrad.nnx.distances import PairwiseDistance as PairwiseDistance
from jaxgrad.nnx.dropouts import AlphaDropout as AlphaDropout
from jaxgrad.nnx.dropouts import Dropout as Dropout
from jaxgrad.nnx.dropouts import Dropout1d as Dropout1d
from jaxgrad.nnx.dropouts import Dropout2d as Dropout2d
from jaxgrad.nnx.dropouts import Dropout3d as Dropout3d
from jaxgrad.nnx.dropouts import FeatureAlphaDropout as FeatureAlphaDropout
from jaxgrad.nnx.fractional_pooling import FractionalMaxPool2d as FractionalMaxPool2d
from jaxgrad.nnx.fractional_pooling import FractionalMaxPool3d as FractionalMaxPool3d
from jaxgrad.nnx.linears import Bilinear as Bilinear
from jaxgrad.nnx.linears import Embedding as Embedding
from jaxgrad.nnx.linears import EmbeddingBag as EmbeddingBag
from jaxgrad.nnx.linears import Linear as Linear
from jaxgrad.nnx.loading import Incompatible as Incompatible
from jaxgrad.nnx.loading import load_state_dict as load_state_dict
from jaxgrad.nnx.loading import state_dict as state_dict
from jaxgrad.nnx.margin_losses import HingeEmbeddingLoss as HingeEmbeddingLoss
from jaxgrad.nnx.margin_losses import MultiLabelMarginLoss as MultiLabelMarginLoss
from jaxgrad.nnx.margin_losses import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from jaxgrad.nnx.margin_losses import MultiMarginLoss as MultiMarginLoss
from jaxgrad.nnx.margin_losses import SoftMarginLoss as SoftMarginLoss
from jaxgrad.nnx.norms import BatchNorm1d as BatchNorm1d
from jaxgrad.nnx.norms import BatchNorm2d as BatchNorm2d
from jaxgrad.nnx.norms import BatchNorm3d as BatchNorm3d
from jaxgrad.nnx.norms import GroupNorm as GroupNorm
from jaxgrad.nnx.norms import InstanceNorm1d as InstanceNorm1d
from jaxgrad.nnx.norms import InstanceNorm2d as InstanceNorm2d
from jaxgrad.nnx.norms import InstanceNorm3d as InstanceNorm3d
from jaxgrad.nnx.norms import LayerNorm as LayerNorm
from jaxgrad.nnx.norms import RMSNorm as RMSNorm
from jaxgrad.nnx.padding import CircularPad1d as CircularPad1d
from jaxgrad.nnx.padding import CircularPad2d as CircularPad2d
from jaxgrad.nnx.padding import CircularPad3d as CircularPad3d
from jaxgrad.nnx.padding import ConstantPad1d as ConstantPad1d
from jaxgrad.nnx.padding import ConstantPad2d as ConstantPad2d
from jaxgrad.nnx.padding import ConstantPad3d as ConstantPad3d
from jaxgrad.nnx.padding import ReflectionPad1d as ReflectionPad1d
from jaxgrad.nnx.padding import ReflectionPad2d as ReflectionPad2d
from jaxgrad.nnx.padding import ReflectionPad3d as ReflectionPad3d
from jaxgrad.nnx.padding import ReplicationPad1d as ReplicationPad1d
from jaxgrad.nnx.padding import ReplicationPad2d as ReplicationPad2d
from jaxgrad.nnx.padding import ReplicationPad3d as ReplicationPad3d
from jaxgrad.nnx.padding import ZeroPad1d as ZeroPad1d
from jaxgrad.nnx.padding import ZeroPad2d as ZeroPad2d
from jaxgrad.nnx.padding import ZeroPad3d as ZeroPad3d
from jaxgrad.nnx.pair_losses import CosineEmbeddingLoss as CosineEmbeddingLoss
from jaxgrad.nnx.pair_losses import MarginRankingLoss as MarginRankingLoss
from jaxgrad.nnx.pair_losses import TripletMarginLoss as TripletMarginLoss
from jaxgrad.nnx.pair_losses import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
from jaxgrad.nnx.parametrizations import spectral_norm as spectral_norm
from jaxgrad.nnx.parametrizations import weight_norm as weight_norm
from jaxgrad.nnx.pooling import AvgPool1d as AvgPool1d
from jaxgrad.nnx.pooling import AvgPool2d as AvgPool2d
from jaxgrad.nnx.pooling import AvgPool3d as AvgPool3d
from jaxgrad.nnx.pooling import LPPool1d as LPPool1d
from jaxgrad.nnx.pooling import LPPool2d as LPPool2d
from jaxgrad.nnx.pooling import LPPool3d as LPPool3d
from jaxgrad.nnx.pooling import MaxPool1d as MaxPool1d
from jaxgrad.nnx.pooling import MaxPool2d as MaxPool2d
from jaxgrad.nnx.pooling import MaxPool3d as MaxPool3d
from jaxgrad.nnx.rectifiers import LeakyReLU as LeakyReLU
from jaxgrad.nnx.rectifiers import PReLU as PReLU
from jaxgrad.nnx.rectifiers import ReLU as ReLU
from jaxgrad.nnx.rectifiers import ReLU6 as ReLU6
from jaxgrad.nnx.rectifiers import RReLU as RReLU
from jaxgrad.nnx.rectifiers import Threshold as Threshold
from jaxgrad.nnx.recurrent import GRU as GRU
from jaxgrad.nnx.recurrent import LSTM as LSTM
from jaxgrad.nnx.recurrent import RNN as RNN
from jaxgrad.nnx.recurrent_cells import GRUCell as GRUCell
from jaxgrad.nnx.recurrent_cells import LSTMCell as LSTMCell
from jaxgrad.nnx.recurrent_cells import RNNCell as RNNCell
from jaxgrad.nnx.regression_losses import GaussianNLLLoss as GaussianNLLLoss
from jaxgrad.nnx.regression_losses import HuberLoss as HuberLoss
from jaxgrad.nnx.regression_losses import KLDivLoss as KLDivLoss
from jaxgrad.nnx.regression_losses import L1Loss as L1Loss
from jaxgrad.nnx.regression_losses import MSELoss as MSELoss
from jaxgrad.nnx.regression_losses import PoissonNLLLoss as PoissonNLLLoss
from jaxgrad.nnx.regression_losses import SmoothL1Loss as SmoothL1Loss
from jaxgrad.nnx.resampling import ChannelShuffle as ChannelShuffle
from jaxgrad.nnx.resampling import PixelShuffle as PixelShuffle
from jaxgrad.nnx.resampling import PixelUnshuffle as PixelUnshuffle
from jaxgrad.nnx.resampling import Upsample as Upsample
from jaxgrad.nnx.resampling import UpsamplingBilinear2d as UpsamplingBilinear2d
from jaxgrad.nnx.resampling import UpsamplingNearest2d as UpsamplingNearest2d
from jaxgrad.nnx.reshaping import Flatten as Flatten
from jaxgrad.nnx.reshaping import Fold as Fold
from jaxgrad.nnx.reshaping import Identity as Identity
from jaxgrad.nnx.reshaping import Unflatten as Unflatten
from jaxgrad.nnx.reshaping import Unfold as Unfold
from jaxgrad.nnx.sigmoids import Hardshrink as Hardshrink
from jaxgrad.nnx.sigmoids import Hardsigmoid as Hardsigmoid
from jaxgrad.nnx.sigmoids import Hardtanh as Hardtanh
from jaxgrad.nnx.sigmoids import LogSigmoid as LogSigmoid
from jaxgrad.nnx.sigmoids import Sigmoid as Sigmoid
from jaxgrad.nnx.sigmoids import Softplus as Softplus
from jaxgrad.nnx.sigmoids import Softshrink as Softshrink
from jaxgrad.nnx.sigmoids import Softsign as Softsign
from jaxgrad.nnx.sigmoids import Tanh as Tanh
from jaxgrad.nnx.sigmoids import Tanhshrink as Tanhshrink
from jaxgrad.nnx.smooth_rectifiers import CELU as CELU
from jaxgrad.nnx.smooth_rectifiers import ELU as ELU
from jaxgrad.nnx.smooth_rectifiers import GELU as GELU
from jaxgrad.nnx.smooth_rectifiers import GLU as GLU
from jaxgrad.nnx.smooth_rectifiers import SELU as SELU
from jaxgrad.nnx.smooth_rectifiers import Hardswish as Hardswish
from jaxgrad.nnx.smooth_rectifiers import Mish as Mish
from jaxgrad.nnx.smooth_rectifiers import SiLU as SiLU
from jaxgrad.nnx.softmax import LogSoftmax as LogSoftmax
from jaxgrad.nnx.softmax import Softmax as Softmax
from jaxgrad.nnx.softmax import Softmax2d as Softmax2d
from jaxgrad.nnx.softmax import Softmin as Softmin
from jaxgrad.nnx.transformer_layers import TransformerDecoderLayer as TransformerDecoderLayer
from jaxgrad.nnx.transformer_layers import TransformerEncoderLayer as TransformerEncoderLayer
from jaxgrad.nnx.transformers import Transformer as Transformer
from jaxgrad.nnx.transformers import TransformerDecoder as TransformerDecoder
from jaxgrad.nnx.transformers import TransformerEncoder as TransformerEncoder
from jaxgrad.nnx.unpooling import MaxUnpool1d as MaxUnpool1d
from jaxgrad.nnx.unpooling import MaxUnpool2d as MaxUnpool2d
from jaxgrad.nnx.unpooling import MaxUnpool3d as MaxUnpool3d
from jaxgrad.nnx.versions import at as at


if not _typing.TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str) -> _typing.Any:
        """Raise the error for an unknown name, with the names that are spelt alike."""
        raise _suggestions.missing(__name__, name, globals())
