"""Modules on graphs, functions, sets and pairs, and modules that make other modules' weights."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from parity_tests.port_collection.entry import Entry, integers, normal, uniform


class GraphAttentionLayer(nn.Module):
    def __init__(self, in_features, out_features, dropout, alpha, concat=True):
        super().__init__()
        self.dropout, self.out_features, self.concat = dropout, out_features, concat
        self.W = nn.Parameter(torch.empty(size=(in_features, out_features)))
        nn.init.xavier_uniform_(self.W.data, gain=1.414)
        self.a = nn.Parameter(torch.empty(size=(2 * out_features, 1)))
        nn.init.xavier_uniform_(self.a.data, gain=1.414)
        self.leakyrelu = nn.LeakyReLU(alpha)

    def forward(self, h, adj):
        Wh = torch.mm(h, self.W)
        e = self._prepare_attentional_mechanism_input(Wh)
        zero_vec = -9e15 * torch.ones_like(e)
        attention = torch.where(adj > 0, e, zero_vec)
        attention = F.softmax(attention, dim=1)
        attention = F.dropout(attention, self.dropout, training=self.training)
        h_prime = torch.matmul(attention, Wh)
        return F.elu(h_prime) if self.concat else h_prime

    def _prepare_attentional_mechanism_input(self, Wh):
        Wh1 = torch.matmul(Wh, self.a[: self.out_features, :])
        Wh2 = torch.matmul(Wh, self.a[self.out_features :, :])
        return self.leakyrelu(Wh1 + Wh2.T)


class GAT(nn.Module):
    def __init__(self, nfeat=4, nhid=3, nclass=2, dropout=0.6, alpha=0.2, nheads=2):
        super().__init__()
        self.dropout = dropout
        self.attentions = [GraphAttentionLayer(nfeat, nhid, dropout, alpha) for _ in range(nheads)]
        for i, attention in enumerate(self.attentions):
            self.add_module(f"attention_{i}", attention)
        self.out_att = GraphAttentionLayer(nhid * nheads, nclass, dropout, alpha, concat=False)

    def forward(self, x, adj):
        x = F.dropout(x, self.dropout, training=self.training)
        x = torch.cat([att(x, adj) for att in self.attentions], dim=1)
        return F.log_softmax(F.elu(self.out_att(x, adj)), dim=1)


class MessagePassing(nn.Module):
    """Sums of messages over edges that are given as two rows of nodes."""

    def __init__(self, size=3, rounds=2):
        super().__init__()
        self.message = nn.Sequential(nn.Linear(2 * size, 4), nn.ReLU(), nn.Linear(4, size))
        self.update = nn.GRUCell(size, size)
        self.rounds = rounds

    def forward(self, nodes, edge_index):
        src, dst = edge_index
        for _ in range(self.rounds):
            m = self.message(torch.cat([nodes[src], nodes[dst]], -1))
            total = torch.zeros_like(nodes).index_add_(0, dst, m)
            nodes = self.update(total, nodes)
        return nodes.amax(0)


class SpectralConv1d(nn.Module):
    def __init__(self, in_channels, out_channels, modes1):
        super().__init__()
        self.out_channels, self.modes1 = out_channels, modes1
        scale = 1 / (in_channels * out_channels)
        weights = scale * torch.rand(in_channels, out_channels, modes1, dtype=torch.cfloat)
        self.weights1 = nn.Parameter(weights)

    # Complex multiplication
    def compl_mul1d(self, input, weights):
        return torch.einsum("bix,iox->box", input, weights)

    def forward(self, x):
        batchsize = x.shape[0]
        x_ft = torch.fft.rfft(x)
        # Multiply relevant Fourier modes
        out_ft = torch.zeros(
            batchsize, self.out_channels, x.size(-1) // 2 + 1, dtype=self.weights1.dtype
        )
        out_ft[:, :, : self.modes1] = self.compl_mul1d(x_ft[:, :, : self.modes1], self.weights1)
        return torch.fft.irfft(out_ft, n=x.size(-1))


class FNO1d(nn.Module):
    def __init__(self, modes=3, width=4):
        super().__init__()
        self.fc0 = nn.Linear(2, width)
        self.convs = nn.ModuleList(SpectralConv1d(width, width, modes) for _ in range(2))
        self.ws = nn.ModuleList(nn.Conv1d(width, width, 1) for _ in range(2))
        self.fc1 = nn.Linear(width, 1)

    def get_grid(self, shape):
        batchsize, size_x = shape[0], shape[1]
        gridx = torch.linspace(0, 1, size_x)
        return gridx.reshape(1, size_x, 1).repeat([batchsize, 1, 1])

    def forward(self, x):
        x = torch.cat((x, self.get_grid(x.shape)), dim=-1)
        x = self.fc0(x).permute(0, 2, 1)
        for conv, w in zip(self.convs, self.ws):
            x = F.gelu(conv(x) + w(x))
        return self.fc1(x.permute(0, 2, 1))


class HyperNetwork(nn.Module):
    def __init__(self, context=3, n_in=2, n_hidden=4, n_out=1):
        super().__init__()
        self.shapes = {
            "w1": (n_hidden, n_in),
            "b1": (n_hidden,),
            "w2": (n_out, n_hidden),
            "b2": (n_out,),
        }
        sizes = {name: torch.Size(shape).numel() for name, shape in self.shapes.items()}
        self.heads = nn.ModuleDict({name: nn.Linear(context, size) for name, size in sizes.items()})

    def generate(self, z):
        return {name: self.heads[name](z).view(-1, *shape) for name, shape in self.shapes.items()}

    def forward(self, z, x):
        params = self.generate(z)
        h = torch.tanh(torch.einsum("bni,boi->bno", x, params["w1"]) + params["b1"][:, None])
        return torch.baddbmm(params["b2"].unsqueeze(1), h, params["w2"].transpose(1, 2))


class Siamese(nn.Module):
    def __init__(self, margin=1.0):
        super().__init__()
        self.margin = margin
        self.trunk = nn.Sequential(
            nn.Conv2d(1, 2, 3), nn.PReLU(), nn.AvgPool2d(2), nn.Flatten(), nn.Linear(8, 3)
        )

    def forward_once(self, x):
        return F.normalize(self.trunk(x), p=2, dim=1)

    def forward(self, x1, x2, label):
        out1, out2 = self.forward_once(x1), self.forward_once(x2)
        distance = F.pairwise_distance(out1, out2)
        return torch.mean(
            (1 - label) * torch.pow(distance, 2)
            + label * torch.pow(torch.clamp(self.margin - distance, min=0.0), 2)
        )


class BYOL(nn.Module):
    """A predictor of the outputs of a frozen copy, with a symmetric loss."""

    def __init__(self, size=4):
        super().__init__()
        self.online = nn.Sequential(
            nn.Linear(size, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3)
        )
        self.target = nn.Sequential(
            nn.Linear(size, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3)
        )
        self.target.load_state_dict(self.online.state_dict())
        for p in self.target.parameters():
            p.requires_grad = False
        self.predictor = nn.Linear(3, 3)

    def loss(self, p, z):
        return 2 - 2 * F.cosine_similarity(p, z.detach(), dim=-1).mean()

    def forward(self, view1, view2):
        p1, p2 = (self.predictor(self.online(v)) for v in (view1, view2))
        with torch.no_grad():
            z1, z2 = self.target(view1), self.target(view2)
        return self.loss(p1, z2) + self.loss(p2, z1)


class Perceiver(nn.Module):
    def __init__(self, dim=4, num_latents=3, depth=2):
        super().__init__()
        self.latents = nn.Parameter(torch.randn(num_latents, dim))
        self.cross_attend = nn.MultiheadAttention(dim, 2, batch_first=True, kdim=5, vdim=5)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 2, 6, dropout=0.1, batch_first=True, norm_first=True)
            for _ in range(depth)
        )

    def forward(self, data: Tensor, mask: Tensor | None = None):
        x = self.latents.expand(data.shape[0], -1, -1)
        attended, weights = self.cross_attend(x, data, data, key_padding_mask=mask)
        x = x + attended
        for layer in self.layers:
            x = layer(x)
        return x.mean(1), weights


class DenseMoE(nn.Module):
    """Every expert runs on every token; the gates of all but the best two are zero."""

    def __init__(self, dim=4, experts=3, k=2):
        super().__init__()
        self.k = k
        self.gate = nn.Linear(dim, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, 5), nn.GELU(), nn.Linear(5, dim)) for _ in range(experts)
        )

    def forward(self, x):
        logits = self.gate(x)
        values, chosen = logits.topk(self.k, dim=-1)
        gates = torch.zeros_like(logits).scatter(-1, chosen, values.softmax(dim=-1))
        outputs = torch.stack([expert(x) for expert in self.experts], dim=-1)
        load = gates.mean(dim=(0, 1))
        return (outputs * gates.unsqueeze(-2)).sum(-1), (load * load).sum() * len(self.experts)


class MixtureDensity(nn.Module):
    def __init__(self, components=3):
        super().__init__()
        self.hidden = nn.Linear(2, 4)
        self.pi, self.mu, self.sigma = (nn.Linear(4, components) for _ in range(3))

    def forward(self, x, y):
        h = torch.tanh(self.hidden(x))
        log_pi, mu, sigma = self.pi(h).log_softmax(-1), self.mu(h), F.softplus(self.sigma(h)) + 1e-3
        log_prob = -0.5 * ((y - mu) / sigma).square() - sigma.log()
        return -torch.logsumexp(log_pi + log_prob, dim=-1).mean()


class FactorizationMachine(nn.Module):
    """A recommender whose features are keyword arguments."""

    def __init__(self, users=5, items=4, k=3):
        super().__init__()
        self.tables = nn.ModuleDict(
            {"user": nn.Embedding(users, k), "item": nn.Embedding(items, k)}
        )
        self.biases = nn.ParameterDict(
            {"user": nn.Parameter(torch.zeros(users)), "item": nn.Parameter(torch.zeros(items))}
        )
        self.dense = nn.Linear(2, k)

    def forward(self, *, user, item, price):
        ids = {"user": user, "item": item}
        factors = [table(ids[name]) for name, table in self.tables.items()] + [self.dense(price)]
        stacked = torch.stack(factors, dim=1)
        pairwise = 0.5 * (stacked.sum(1).pow(2) - stacked.pow(2).sum(1)).sum(-1)
        linear = sum(self.biases[name][index] for name, index in ids.items())
        return torch.sigmoid(pairwise + linear)


_EDGES = integers(4, 2, 6)
MODULES = {
    "graph_attention": Entry(
        GAT, (normal(4, 4), integers(2, 4, 4)), (normal(5, 4), integers(2, 5, 5))
    ),
    "message_passing": Entry(MessagePassing, (normal(4, 3), _EDGES), (normal(6, 3), _EDGES[:, :4])),
    "fno": Entry(FNO1d, (normal(2, 8, 1),), (normal(1, 10, 1),)),
    "hypernetwork": Entry(
        HyperNetwork, (normal(2, 3), normal(2, 5, 2)), (normal(3, 3), normal(3, 4, 2))
    ),
    "siamese": Entry(
        Siamese,
        (normal(3, 1, 6, 6), normal(3, 1, 6, 6, seed=1), integers(2, 3)),
        (normal(2, 1, 6, 6), normal(2, 1, 6, 6, seed=1), integers(2, 2)),
    ),
    "byol": Entry(BYOL, (normal(4, 4), normal(4, 4, seed=1)), (normal(3, 4), normal(3, 4, seed=1))),
    "perceiver": Entry(
        Perceiver, (normal(2, 5, 5), uniform(2, 5) > 0.7), (normal(3, 4, 5), uniform(3, 4) > 0.7)
    ),
    "dense_moe": Entry(DenseMoE, (normal(2, 3, 4),), (normal(1, 5, 4),)),
    "mixture_density": Entry(
        MixtureDensity, (normal(4, 2), normal(4, 1)), (normal(3, 2), normal(3, 1))
    ),
    "factorization_machine": Entry(
        FactorizationMachine,
        dict(user=integers(5, 3), item=integers(4, 3), price=normal(3, 2)),
        dict(user=integers(5, 2), item=integers(4, 2), price=normal(2, 2)),
    ),
}
