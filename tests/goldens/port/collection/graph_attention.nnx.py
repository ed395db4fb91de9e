"""JAX port of GAT (port_collection/structured.py), written by jaxgrad.port for torch 2.13."""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class GAT(nnx.Module):
    """GAT (port_collection/structured.py:0)."""

    def __init__(self, *, rngs: nnx.Rngs):
        self.attention_0 = GraphAttentionLayer(rngs=rngs)
        self.attention_1 = GraphAttentionLayer(rngs=rngs)
        self.out_att = GraphAttentionLayer2(rngs=rngs)
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, x, adj):
        dropout_rng = None if self.deterministic else self.rngs()
        x = F.dropout(x, p=0.6, training=not self.deterministic, key=dropout_rng)
        x = jnp.concatenate([att(x, adj) for att in [self.attention_0, self.attention_1]], axis=1)
        return jax.nn.log_softmax(F.elu(self.out_att(x, adj)), axis=1)


class GraphAttentionLayer(nnx.Module):
    """GraphAttentionLayer (port_collection/structured.py:0).

    `jaxgrad.nnx.load_state_dict` sets `W` and `a`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.out_features = 3
        self.W = nnx.Param(jnp.empty((4, 3), jnp.float32))
        self.a = nnx.Param(jnp.empty((6, 1), jnp.float32))
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, h, adj):
        Wh = h @ self.W[...]
        e = self._prepare_attentional_mechanism_input(Wh)
        zero_vec = -9e15 * jnp.ones_like(e)
        attention = jnp.where(adj > 0, e, zero_vec)
        attention = jax.nn.softmax(attention, axis=1)
        dropout_rng = None if self.deterministic else self.rngs()
        attention = F.dropout(attention, p=0.6, training=not self.deterministic, key=dropout_rng)
        h_prime = attention @ Wh
        return F.elu(h_prime)

    def _prepare_attentional_mechanism_input(self, Wh):
        Wh1 = Wh @ self.a[...][: self.out_features, :]
        Wh2 = Wh @ self.a[...][self.out_features :, :]
        return F.leaky_relu(Wh1 + Wh2.T, negative_slope=0.2)


class GraphAttentionLayer2(nnx.Module):
    """GraphAttentionLayer (port_collection/structured.py:0).

    `jaxgrad.nnx.load_state_dict` sets `W` and `a`, which the constructor leaves as `jnp.empty`.
    """

    def __init__(self, *, rngs: nnx.Rngs):
        self.out_features = 2
        self.W = nnx.Param(jnp.empty((6, 2), jnp.float32))
        self.a = nnx.Param(jnp.empty((4, 1), jnp.float32))
        self.rngs = rngs.dropout.fork()
        self.deterministic = False

    def __call__(self, h, adj):
        Wh = h @ self.W[...]
        e = self._prepare_attentional_mechanism_input(Wh)
        zero_vec = -9e15 * jnp.ones_like(e)
        attention = jnp.where(adj > 0, e, zero_vec)
        attention = jax.nn.softmax(attention, axis=1)
        dropout_rng = None if self.deterministic else self.rngs()
        attention = F.dropout(attention, p=0.6, training=not self.deterministic, key=dropout_rng)
        return attention @ Wh

    def _prepare_attentional_mechanism_input(self, Wh):
        Wh1 = Wh @ self.a[...][: self.out_features, :]
        Wh2 = Wh @ self.a[...][self.out_features :, :]
        return F.leaky_relu(Wh1 + Wh2.T, negative_slope=0.2)
