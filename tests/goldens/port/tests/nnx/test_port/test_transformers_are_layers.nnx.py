"""JAX port of Attending (nnx/test_port.py), written by jaxgrad.port for torch 2.13."""

from flax import nnx
from jaxgrad.nnx import PReLU, Transformer, TransformerEncoderLayer


class Attending(nnx.Module):
    """Attending (nnx/test_port.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.encoder = TransformerEncoder(rngs=rngs)
        self.both = Transformer(
            3,
            nhead=1,
            dim_feedforward=4,
            dropout=0.0,
            num_encoder_layers=1,
            num_decoder_layers=1,
            rngs=rngs,
        )
        self.act = PReLU()

    def __call__(self, x):
        return self.both(self.act(self.encoder(x)), x)


class TransformerEncoder(nnx.Module):
    """torch.nn.TransformerEncoder."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.layers = nnx.List(
            [
                TransformerEncoderLayer(
                    3, 3, dim_feedforward=5, dropout=0.0, activation="gelu", rngs=rngs
                ) for _ in range(2)
            ]
        )

    def __call__(self, src):
        output = src
        for mod in self.layers:
            output = mod(output, src_mask=None, is_causal=False, src_key_padding_mask=None)
        return output
