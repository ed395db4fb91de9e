"""Modules that model a distribution: autoencoders, flows, diffusion, a critic with a penalty."""

from __future__ import annotations

import abc
import math
from collections import OrderedDict
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.distributions import Normal

from parity_tests.port_collection.entry import Entry, integers, normal, uniform


class VectorQuantizer(nn.Module):
    def __init__(self, num_embeddings=5, embedding_dim=3, commitment_cost=0.25):
        super().__init__()
        self._num_embeddings, self._commitment_cost = num_embeddings, commitment_cost
        self._embedding = nn.Embedding(num_embeddings, embedding_dim)
        self._embedding.weight.data.uniform_(-1 / num_embeddings, 1 / num_embeddings)

    def forward(self, inputs):
        # Calculate distances
        distances = (
            torch.sum(inputs**2, dim=1, keepdim=True)
            + torch.sum(self._embedding.weight**2, dim=1)
            - 2 * torch.matmul(inputs, self._embedding.weight.t())
        )
        # Encoding
        indices = torch.argmin(distances, dim=1)
        one_hot = F.one_hot(indices, self._num_embeddings).type(inputs.dtype)
        quantized = torch.matmul(one_hot, self._embedding.weight)
        # Loss
        e_latent_loss = F.mse_loss(quantized.detach(), inputs)
        q_latent_loss = F.mse_loss(quantized, inputs.detach())
        loss = q_latent_loss + self._commitment_cost * e_latent_loss
        quantized = inputs + (quantized - inputs).detach()
        avg_probs = torch.mean(one_hot, dim=0)
        perplexity = torch.exp(-torch.sum(avg_probs * torch.log(avg_probs + 1e-10)))
        return {"loss": loss, "quantized": quantized, "perplexity": perplexity}


class VQVAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            OrderedDict(fc1=nn.Linear(6, 4), act=nn.ReLU(), fc2=nn.Linear(4, 3))
        )
        self.quantizer = VectorQuantizer()
        self.decoder = nn.Sequential(
            OrderedDict(fc1=nn.Linear(3, 4), act=nn.ReLU(), fc2=nn.Linear(4, 6))
        )

    def forward(self, x):
        vq = self.quantizer(self.encoder(x))
        recon = self.decoder(vq["quantized"])
        return F.mse_loss(recon, x) + vq["loss"], recon, vq["perplexity"]


class WassersteinCritic(nn.Module):
    """The critic's loss with its gradient penalty."""

    def __init__(self, features=4, lambda_gp: float = 10.0):
        super().__init__()
        self.lambda_gp = lambda_gp
        self.model = nn.Sequential(
            nn.Linear(features, 6), nn.LeakyReLU(0.2, inplace=True), nn.Linear(6, 1)
        )

    def compute_gradient_penalty(self, real_samples, fake_samples, alpha):
        interpolates = alpha * real_samples + (1 - alpha) * fake_samples
        interpolates = interpolates.detach().requires_grad_(True)
        d_interpolates = self.model(interpolates)
        gradients = torch.autograd.grad(
            outputs=d_interpolates,
            inputs=interpolates,
            grad_outputs=torch.ones_like(d_interpolates),
            create_graph=True,
            retain_graph=True,
            only_inputs=True,
        )[0]
        gradients = gradients.view(gradients.size(0), -1)
        return ((gradients.norm(2, dim=1) - 1) ** 2).mean()

    def forward(self, real, fake, alpha):
        penalty = self.compute_gradient_penalty(real, fake, alpha)
        return -self.model(real).mean() + self.model(fake).mean() + self.lambda_gp * penalty


class Bijection(nn.Module, abc.ABC):
    @abc.abstractmethod
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]: ...


class ActNorm(Bijection):
    def __init__(self, dim):
        super().__init__()
        self.loc, self.log_scale = nn.Parameter(torch.zeros(dim)), nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        return (x - self.loc) * self.log_scale.exp(), self.log_scale.sum().expand(len(x))


class AffineCoupling(Bijection):
    mask: Tensor

    def __init__(self, dim, hidden, parity):
        super().__init__()
        self.register_buffer("mask", (torch.arange(dim) % 2 == parity).float())
        self.scale = nn.Sequential(
            nn.Linear(dim, hidden), nn.Tanh(), nn.Linear(hidden, dim), nn.Tanh()
        )
        self.translate = nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, dim))

    def forward(self, x):
        masked = self.mask * x
        s = self.scale(masked) * (1 - self.mask)
        t = self.translate(masked) * (1 - self.mask)
        return masked + (1 - self.mask) * (x * s.exp() + t), s.sum(-1)


class RealNVP(nn.Module):
    def __init__(self, dim=4, hidden=5, layers=3):
        super().__init__()
        self.bijections = nn.ModuleList()
        for layer in range(layers):
            self.bijections.extend([ActNorm(dim), AffineCoupling(dim, hidden, layer % 2)])

    def forward(self, x):
        log_det = x.new_zeros(x.shape[0])
        for bijection in self.bijections:
            x, delta = bijection(x)
            log_det += delta
        return -(Normal(0.0, 1.0).log_prob(x).sum(-1) + log_det).mean()


def rk4_step(f: Callable[[Tensor, Tensor], Tensor], t, h, y: Tensor) -> Tensor:
    k1 = f(t, y)
    k2 = f(t + h / 2, y + h / 2 * k1)
    k3 = f(t + h / 2, y + h / 2 * k2)
    k4 = f(t + h, y + h * k3)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


class NeuralODE(nn.Module):
    def __init__(self, dim=3, hidden=5, steps=4):
        super().__init__()
        self.steps = steps
        self.net = nn.Sequential(nn.Linear(dim + 1, hidden), nn.Softplus(), nn.Linear(hidden, dim))

    def dynamics(self, t, y):
        return self.net(torch.cat([y, torch.ones_like(y[..., :1]) * t], dim=-1))

    def forward(self, y0, t1=1.0):
        y, h = y0, t1 / self.steps
        for k in range(self.steps):
            y = rk4_step(self.dynamics, k * h, h, y)
        return y


def timestep_embedding(timesteps, dim, max_period=10000):
    half = dim // 2
    freqs = torch.exp(-math.log(max_period) * torch.arange(half, dtype=torch.float32) / half)
    args = timesteps[:, None].float() * freqs[None]
    embedding = torch.cat([torch.cos(args), torch.sin(args)], dim=-1)
    if dim % 2:
        embedding = torch.cat([embedding, torch.zeros_like(embedding[:, :1])], dim=-1)
    return embedding


class ScaleShiftBlock(nn.Module):
    def __init__(self, channels, emb):
        super().__init__()
        self.norm = nn.GroupNorm(2, channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.emb_proj = nn.Linear(emb, 2 * channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x, emb):
        h = self.conv1(F.silu(self.norm(x)))
        scale, shift = self.emb_proj(F.silu(emb))[:, :, None, None].chunk(2, dim=1)
        h = h * (1 + scale) + shift
        return x + self.conv2(F.silu(h))


class Denoiser(nn.Module):
    """The loss of DDPM on given times and noise."""

    alphas_cumprod: Tensor

    def __init__(self, channels=4, steps=10):
        super().__init__()
        self.register_buffer(
            "alphas_cumprod", torch.cumprod(1 - torch.linspace(1e-4, 0.02, steps), 0)
        )
        self.stem, self.block = nn.Conv2d(1, channels, 1), ScaleShiftBlock(channels, 6)
        self.out = nn.Conv2d(channels, 1, 1)

    def q_sample(self, x0, t, noise):
        a = self.alphas_cumprod.gather(0, t).view(-1, *([1] * (x0.dim() - 1)))
        return a.sqrt() * x0 + (1 - a).sqrt() * noise

    def forward(self, x0, t, noise):
        xt = self.q_sample(x0, t, noise)
        h = self.block(self.stem(xt), timestep_embedding(t, 6))
        return F.mse_loss(self.out(h), noise, reduction="none").flatten(1).mean(1)


class BetaVAE(nn.Module):
    def __init__(self, beta=4.0):
        super().__init__()
        self.beta = beta
        self.enc, self.dec = nn.Linear(5, 4), nn.Linear(2, 5)

    def reparameterize(self, mu, logvar):
        if self.training:
            std = torch.exp(0.5 * logvar)
            eps = torch.randn_like(std)
            return mu + eps * std
        return mu

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, -1)
        recon = torch.sigmoid(self.dec(self.reparameterize(mu, logvar)))
        bce = F.binary_cross_entropy(recon, x, reduction="sum")
        kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        return bce + self.beta * kld, mu, logvar


MODULES = {
    "vq_vae": Entry(VQVAE, (normal(4, 6),), (normal(3, 6),)),
    "gan_penalty": Entry(
        WassersteinCritic, (normal(3, 4), normal(3, 4, seed=1), uniform(3, 1)),
        (normal(2, 4), normal(2, 4, seed=1), uniform(2, 1)),
    ),
    "real_nvp": Entry(RealNVP, (normal(3, 4),), (normal(5, 4),)),
    "neural_ode": Entry(NeuralODE, (normal(3, 3),), (normal(2, 4, 3),)),
    "diffusion_film": Entry(
        Denoiser, (normal(2, 1, 4, 4), integers(10, 2), normal(2, 1, 4, 4, seed=1)),
        (normal(3, 1, 4, 6), integers(10, 3), normal(3, 1, 4, 6, seed=1)),
    ),
    "beta_vae": Entry(BetaVAE, (uniform(3, 5),), (uniform(2, 5),)),
}  # fmt: skip
