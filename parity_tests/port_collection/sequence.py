"""Modules that read sequences: text, audio and time series."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from parity_tests.port_collection.entry import Entry, integers, normal


@dataclasses.dataclass
class LlamaConfig:
    vocab_size: int = 11
    dim: int = 8
    n_layers: int = 2
    n_heads: int = 4
    n_kv_heads: int = 2
    hidden_dim: int = 12
    norm_eps: float = 1e-5
    rope_theta: float = 10000.0

    @property
    def head_dim(self) -> int:
        return self.dim // self.n_heads


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def _norm(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)

    def forward(self, x):
        return self._norm(x.float()).type_as(x) * self.weight


def rotate_half(x):
    x1, x2 = x.chunk(2, dim=-1)
    return torch.cat((-x2, x1), dim=-1)


def apply_rope(q, k, cos, sin):
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


class LlamaAttention(nn.Module):
    def __init__(self, config: LlamaConfig):
        super().__init__()
        self.config = config
        self.wq = nn.Linear(config.dim, config.n_heads * config.head_dim, bias=False)
        self.wk = nn.Linear(config.dim, config.n_kv_heads * config.head_dim, bias=False)
        self.wv = nn.Linear(config.dim, config.n_kv_heads * config.head_dim, bias=False)
        self.wo = nn.Linear(config.n_heads * config.head_dim, config.dim, bias=False)

    def forward(self, x, cos, sin):
        bsz, seqlen, _ = x.shape
        cfg = self.config
        xq = self.wq(x).view(bsz, seqlen, cfg.n_heads, cfg.head_dim).transpose(1, 2)
        xk = self.wk(x).view(bsz, seqlen, cfg.n_kv_heads, cfg.head_dim).transpose(1, 2)
        xv = self.wv(x).view(bsz, seqlen, cfg.n_kv_heads, cfg.head_dim).transpose(1, 2)
        xq, xk = apply_rope(xq, xk, cos, sin)
        # every head of the keys and values serves several heads of the queries
        n_rep = cfg.n_heads // cfg.n_kv_heads
        xk, xv = (t.repeat_interleave(n_rep, dim=1) for t in (xk, xv))
        out = F.scaled_dot_product_attention(xq, xk, xv, is_causal=True)
        return self.wo(out.transpose(1, 2).contiguous().view(bsz, seqlen, -1))


class SwiGLU(nn.Module):
    def __init__(self, config: LlamaConfig):
        super().__init__()
        self.w1 = nn.Linear(config.dim, config.hidden_dim, bias=False)
        self.w2 = nn.Linear(config.hidden_dim, config.dim, bias=False)
        self.w3 = nn.Linear(config.dim, config.hidden_dim, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class LlamaBlock(nn.Module):
    def __init__(self, config: LlamaConfig):
        super().__init__()
        self.attention, self.feed_forward = LlamaAttention(config), SwiGLU(config)
        self.attention_norm = RMSNorm(config.dim, config.norm_eps)
        self.ffn_norm = RMSNorm(config.dim, config.norm_eps)

    def forward(self, x, cos, sin):
        h = x + self.attention(self.attention_norm(x), cos, sin)
        return h + self.feed_forward(self.ffn_norm(h))


class Llama(nn.Module):
    inv_freq: Tensor

    def __init__(self, **kwargs):
        super().__init__()
        config = LlamaConfig(**kwargs)
        self.tok_embeddings = nn.Embedding(config.vocab_size, config.dim)
        self.layers = nn.ModuleList(LlamaBlock(config) for _ in range(config.n_layers))
        self.norm = RMSNorm(config.dim, config.norm_eps)
        self.output = nn.Linear(config.dim, config.vocab_size, bias=False)
        powers = torch.arange(0, config.head_dim, 2).float() / config.head_dim
        self.register_buffer("inv_freq", 1.0 / config.rope_theta**powers, persistent=False)

    def forward(self, tokens, targets=None):
        h = self.tok_embeddings(tokens)
        angles = torch.outer(torch.arange(tokens.shape[1]).float(), self.inv_freq)
        angles = torch.cat((angles, angles), dim=-1)
        cos, sin = angles.cos(), angles.sin()
        for layer in self.layers:
            h = layer(h, cos, sin)
        logits = self.output(self.norm(h))
        if targets is None:
            return logits
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.reshape(-1))


class SelectiveSSM(nn.Module):
    """A Mamba block with the scan written as a loop."""

    def __init__(self, d_model=4, d_state=3, d_conv=3, expand=2):
        super().__init__()
        self.d_inner, self.d_state = expand * d_model, d_state
        self.in_proj = nn.Linear(d_model, self.d_inner * 2, bias=False)
        self.conv1d = nn.Conv1d(
            self.d_inner, self.d_inner, d_conv, groups=self.d_inner, padding=d_conv - 1
        )
        self.x_proj = nn.Linear(self.d_inner, 1 + 2 * d_state, bias=False)
        self.dt_proj = nn.Linear(1, self.d_inner)
        self.A_log = nn.Parameter(torch.log(torch.arange(1.0, d_state + 1).repeat(self.d_inner, 1)))
        self.D = nn.Parameter(torch.ones(self.d_inner))
        self.out_proj = nn.Linear(self.d_inner, d_model, bias=False)

    def forward(self, x):
        b, l, _ = x.shape
        x, res = self.in_proj(x).split(split_size=[self.d_inner, self.d_inner], dim=-1)
        x = F.silu(self.conv1d(x.transpose(1, 2))[..., :l].transpose(1, 2))
        return self.out_proj(self.ssm(x) * F.silu(res))

    def ssm(self, u):
        b, l, d_in = u.shape
        A = -torch.exp(self.A_log.float())
        delta, B, C = self.x_proj(u).split([1, self.d_state, self.d_state], dim=-1)
        delta = F.softplus(self.dt_proj(delta))
        deltaA = torch.exp(torch.einsum("bld,dn->bldn", delta, A))
        deltaB_u = torch.einsum("bld,bln,bld->bldn", delta, B, u)
        x = torch.zeros((b, d_in, self.d_state))
        ys = []
        for i in range(l):
            x = deltaA[:, i] * x + deltaB_u[:, i]
            ys.append(torch.einsum("bdn,bn->bd", x, C[:, i, :]))
        return torch.stack(ys, dim=1) + u * self.D


class Chomp1d(nn.Module):
    def __init__(self, chomp_size):
        super().__init__()
        self.chomp_size = chomp_size

    def forward(self, x):
        return x[:, :, : -self.chomp_size].contiguous()


class TemporalBlock(nn.Module):
    def __init__(self, n_inputs, n_outputs, kernel_size, dilation):
        super().__init__()
        padding = (kernel_size - 1) * dilation
        conv = nn.Conv1d(n_inputs, n_outputs, kernel_size, padding=padding, dilation=dilation)
        self.net = nn.Sequential(weight_norm(conv), Chomp1d(padding), nn.ReLU(), nn.Dropout(0.2))
        self.downsample = nn.Conv1d(n_inputs, n_outputs, 1) if n_inputs != n_outputs else None
        self.relu = nn.ReLU()

    def forward(self, x):
        out = self.net(x)
        res = x if self.downsample is None else self.downsample(x)
        return self.relu(out + res)


class TCN(nn.Module):
    def __init__(self, num_inputs=2, num_channels=(3, 3), kernel_size=2):
        super().__init__()
        layers = []
        for i, out_channels in enumerate(num_channels):
            in_channels = num_inputs if i == 0 else num_channels[i - 1]
            layers += [TemporalBlock(in_channels, out_channels, kernel_size, 2**i)]
        self.network = nn.Sequential(*layers)

    def forward(self, x):
        return self.network(x)[:, :, -1]


class WaveNet(nn.Module):
    def __init__(self, classes=6, residual=4, skip=3, dilations=(1, 2, 4)):
        super().__init__()
        self.dilations = dilations
        self.embed = nn.Embedding(classes, residual)
        self.filters, self.gates = nn.ModuleList(), nn.ModuleList()
        self.residuals, self.skips = nn.ModuleList(), nn.ModuleList()
        for d in dilations:
            self.filters.append(nn.Conv1d(residual, residual, 2, dilation=d))
            self.gates.append(nn.Conv1d(residual, residual, 2, dilation=d))
            self.residuals.append(nn.Conv1d(residual, residual, 1))
            self.skips.append(nn.Conv1d(residual, skip, 1))
        self.end = nn.Conv1d(skip, classes, 1)

    def forward(self, codes):
        x = self.embed(codes).transpose(1, 2)
        total: Any = 0
        for dilation, f, g, r, s in zip(
            self.dilations, self.filters, self.gates, self.residuals, self.skips
        ):
            padded = F.pad(x, (dilation, 0))
            z = torch.tanh(f(padded)) * torch.sigmoid(g(padded))
            total = total + s(z)
            x = x + r(z)
        return self.end(F.relu(total))


class Highway(nn.Module):
    def __init__(self, size=5, num_layers=2, f=torch.relu):
        super().__init__()
        self.num_layers, self.f = num_layers, f
        self.nonlinear = nn.ModuleList([nn.Linear(size, size) for _ in range(num_layers)])
        self.linear = nn.ModuleList([nn.Linear(size, size) for _ in range(num_layers)])
        self.gate = nn.ModuleList([nn.Linear(size, size) for _ in range(num_layers)])

    def forward(self, x):
        for layer in range(self.num_layers):
            gate = torch.sigmoid(self.gate[layer](x))
            nonlinear = self.f(self.nonlinear[layer](x))
            linear = self.linear[layer](x)
            x = gate * nonlinear + (1 - gate) * linear
        return x


class MemN2N(nn.Module):
    """An end-to-end memory network whose embeddings are shared between neighbouring hops."""

    C_0: nn.Embedding
    C_2: nn.Embedding

    def __init__(self, vocab=9, dim=4, hops=2, length=3):
        super().__init__()
        self.hops = hops
        for hop in range(hops + 1):
            self.add_module(f"C_{hop}", nn.Embedding(vocab, dim, padding_idx=0))
        self.encoding = nn.Parameter(torch.ones(length, dim), requires_grad=False)

    def forward(self, story, query):
        u = [torch.sum(self.C_0(query) * self.encoding, 1)]
        for hop in range(self.hops):
            m_A = torch.sum(getattr(self, f"C_{hop}")(story) * self.encoding, 2)
            prob = F.softmax(torch.sum(m_A * u[-1].unsqueeze(1), 2), dim=-1)
            m_C = torch.sum(getattr(self, f"C_{hop + 1}")(story) * self.encoding, 2)
            o_k = torch.sum(m_C * prob.unsqueeze(2), 1)
            u.append(u[-1] + o_k)
        return u[-1] @ self.C_2.weight.t()


MODULES = {
    "llama": Entry(
        Llama, (integers(11, 2, 5), integers(11, 2, 5, seed=1)),
        (integers(11, 1, 7), integers(11, 1, 7, seed=1)),
    ),
    "selective_ssm": Entry(SelectiveSSM, (normal(2, 4, 4),), (normal(1, 6, 4),)),
    "tcn": Entry(TCN, (normal(2, 2, 6),), (normal(3, 2, 5),)),
    "wavenet": Entry(WaveNet, (integers(6, 2, 7),), (integers(6, 1, 9),)),
    "highway": Entry(Highway, (normal(3, 5),), (normal(2, 4, 5),)),
    "memory_network": Entry(
        MemN2N, (integers(9, 2, 4, 3), integers(9, 2, 3)), (integers(9, 3, 5, 3), integers(9, 3, 3))
    ),
}  # fmt: skip
