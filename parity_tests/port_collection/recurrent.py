"""Recurrent modules, and front ends of speech and text that they are used with."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from parity_tests.port_collection.entry import Entry, integers, normal


class LSTMState(NamedTuple):
    h: Tensor
    c: Tensor


class PeepholeLSTM(nn.Module):
    def __init__(self, input_size=3, hidden_size=4):
        super().__init__()
        self.hidden_size = hidden_size
        self.weight_ih = nn.Parameter(torch.randn(4 * hidden_size, input_size) / 2)
        self.weight_hh = nn.Parameter(torch.randn(4 * hidden_size, hidden_size) / 2)
        self.peephole = nn.Parameter(torch.randn(3, hidden_size))
        self.bias = nn.Parameter(torch.zeros(4 * hidden_size))

    def step(self, x: Tensor, state: LSTMState) -> LSTMState:
        gates = F.linear(x, self.weight_ih, self.bias) + F.linear(state.h, self.weight_hh)
        i, f, g, o = gates.chunk(4, dim=-1)
        i = torch.sigmoid(i + self.peephole[0] * state.c)
        f = torch.sigmoid(f + self.peephole[1] * state.c)
        c = f * state.c + i * g.tanh()
        o = torch.sigmoid(o + self.peephole[2] * c)
        return LSTMState(o * c.tanh(), c)

    def forward(self, xs: Tensor):
        zeros = xs.new_zeros(xs.size(0), self.hidden_size)
        state = LSTMState(zeros, zeros)
        hs = []
        for x in xs.unbind(dim=1):
            state = self.step(x, state)
            hs.append(state.h)
        return torch.stack(hs, dim=1), state


class AttentivePooling(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.query = nn.Parameter(torch.randn(size))

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        scores = states @ self.query / math.sqrt(states.shape[-1])
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        return (scores.softmax(-1).unsqueeze(-1) * states).sum(1)


class TextClassifier(nn.Module):
    def __init__(self, vocab=8, hidden=3, classes=2):
        super().__init__()
        self.embedding = nn.Embedding(vocab, 4, padding_idx=0)
        self.encoder = nn.GRU(4, hidden, num_layers=2, batch_first=True, bidirectional=True)
        self.pool = AttentivePooling(2 * hidden)
        self.out = nn.Linear(2 * hidden, classes)

    def forward(self, tokens: Tensor, lengths: Tensor) -> Tensor:
        mask = torch.arange(tokens.size(1))[None, :] < lengths[:, None]
        states, _ = self.encoder(self.embedding(tokens))
        return self.out(self.pool(states, mask))


class Seq2Seq(nn.Module):
    """An encoder and an attentive decoder of cells with teacher forcing."""

    def __init__(self, vocab=7, size=4):
        super().__init__()
        self.embed = nn.Embedding(vocab, size)
        self.encoder = nn.RNN(size, size, nonlinearity="tanh", batch_first=True)
        self.cell = nn.LSTMCell(2 * size, size)
        self.project = nn.Linear(size, vocab)

    def attend(self, memory, hidden):
        weights = torch.einsum("bth,bh->bt", memory, hidden).softmax(dim=1)
        return torch.einsum("bt,bth->bh", weights, memory)

    def forward(self, source, target):
        memory, last = self.encoder(self.embed(source))
        hidden, cell = last.squeeze(0), torch.zeros_like(last.squeeze(0))
        loss = 0.0
        for t in range(target.shape[1] - 1):
            inputs = torch.cat([self.embed(target[:, t]), self.attend(memory, hidden)], dim=-1)
            hidden, cell = self.cell(inputs, (hidden, cell))
            loss = loss + F.cross_entropy(self.project(hidden), target[:, t + 1])
        return loss / (target.shape[1] - 1)


class SpeechFrontEnd(nn.Module):
    """Log energies of triangular bands of the spectrum, normalised over time."""

    window: Tensor
    filters: Tensor

    def __init__(self, n_fft=8, hop=4, bands=3, classes=4):
        super().__init__()
        self.n_fft, self.hop = n_fft, hop
        self.register_buffer("window", torch.hann_window(n_fft))
        centers = torch.linspace(0, n_fft // 2, bands + 2)
        bins = torch.arange(n_fft // 2 + 1)
        up = (bins[:, None] - centers[None, :-2]) / (centers[1:-1] - centers[:-2])
        down = (centers[None, 2:] - bins[:, None]) / (centers[2:] - centers[1:-1])
        self.register_buffer("filters", torch.minimum(up, down).clamp(min=0))
        self.emphasis = nn.Parameter(torch.tensor(0.97))
        self.rnn = nn.GRU(bands, 3, batch_first=True)
        self.head = nn.Linear(3, classes)

    @property
    def floor(self):
        return 1e-6

    def forward(self, audio):
        audio = torch.cat([audio[:, :1], audio[:, 1:] - self.emphasis * audio[:, :-1]], dim=1)
        frames = audio.unfold(-1, self.n_fft, self.hop) * self.window
        power = torch.fft.rfft(frames).abs() ** 2
        mel = torch.log(power @ self.filters + self.floor)
        mel = (mel - mel.mean(1, keepdim=True)) / (mel.std(1, keepdim=True) + 1e-5)
        hidden, _ = self.rnn(mel)
        return F.log_softmax(self.head(hidden), dim=-1)


def elu_feature_map(x):
    return F.elu(x) + 1


class CausalLinearAttention(nn.Module):
    def __init__(self, dim=4, heads=2, feature_map=elu_feature_map):
        super().__init__()
        self.heads, self.feature_map = heads, feature_map
        self.to_qkv, self.to_out = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim)

    def split_heads(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x):
        q, k, v = map(self.split_heads, self.to_qkv(x).chunk(3, dim=-1))
        q, k = self.feature_map(q), self.feature_map(k)
        kv = torch.einsum("bhnd,bhne->bhnde", k, v).cumsum(dim=2)
        norm = 1 / (torch.einsum("bhnd,bhnd->bhn", q, k.cumsum(2)) + 1e-6)
        out = torch.einsum("bhnd,bhnde,bhn->bhne", q, kv, norm)
        return self.to_out(out.transpose(1, 2).flatten(2))


class TimeMixing(nn.Module):
    """The recurrence of RWKV, with a token shift."""

    def __init__(self, dim=4):
        super().__init__()
        self.time_shift = nn.ZeroPad2d((0, 0, 1, -1))
        self.time_decay = nn.Parameter(torch.linspace(-1, 1, dim))
        self.time_first = nn.Parameter(torch.full((dim,), 0.3))
        self.time_mix = nn.ParameterDict({k: nn.Parameter(torch.rand(1, 1, dim)) for k in "kvr"})
        self.key, self.value = nn.Linear(dim, dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.receptance = nn.Linear(dim, dim, bias=False)
        self.output = nn.Linear(dim, dim, bias=False)

    def mix(self, x, name):
        ratio = self.time_mix[name]
        return x * ratio + self.time_shift(x) * (1 - ratio)

    def forward(self, x):
        k, v = self.key(self.mix(x, "k")), self.value(self.mix(x, "v"))
        r = torch.sigmoid(self.receptance(self.mix(x, "r")))
        w = torch.exp(-torch.exp(self.time_decay))
        numerator = torch.zeros_like(x[:, 0])
        denominator = torch.zeros_like(x[:, 0])
        outputs = []
        for t in range(x.shape[1]):
            weight = torch.exp(self.time_first + k[:, t])
            outputs.append((numerator + weight * v[:, t]) / (denominator + weight))
            numerator = w * numerator + k[:, t].exp() * v[:, t]
            denominator = w * denominator + k[:, t].exp()
        return self.output(r * torch.stack(outputs, 1))


MODULES = {
    "peephole_lstm": Entry(PeepholeLSTM, (normal(2, 4, 3),), (normal(3, 5, 3),)),
    "text_classifier": Entry(
        TextClassifier, (integers(8, 2, 5), integers(4, 2) + 1),
        (integers(8, 3, 4), integers(4, 3) + 1),
    ),
    "seq2seq": Entry(
        Seq2Seq, (integers(7, 2, 4), integers(7, 2, 4, seed=1)),
        (integers(7, 3, 5), integers(7, 3, 3, seed=1)),
    ),
    "speech_front_end": Entry(SpeechFrontEnd, (normal(2, 24),), (normal(1, 32),)),
    "linear_attention": Entry(CausalLinearAttention, (normal(2, 4, 4),), (normal(1, 6, 4),)),
    "rwkv": Entry(TimeMixing, (normal(2, 4, 4),), (normal(1, 5, 4),)),
}  # fmt: skip
