"""JAX port of Critic (calls/test_functional_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def critic(p, x):
    """Critic (calls/test_functional_calls.py:0): x (N, 4) -> (N, 1)."""
    fast = {
        "0.weight": p["critic"][0]["weight"],
        "0.bias": p["critic"][0]["bias"],
        "2.weight": p["critic"][2]["weight"],
        "2.bias": p["critic"][2]["bias"],
    }
    item = fast["0.weight"] * 2
    acted = critic_critic(lax.stop_gradient(p["critic"]), F.linear(x, **p["actor"]))
    critic_p = [
        {"weight": item, "bias": fast["0.bias"]},
        p["critic"][1],
        {"weight": fast["2.weight"], "bias": fast["2.bias"]},
    ]
    return acted + critic_critic(critic_p, x)


def critic_critic(p, x):
    """Critic.critic (calls/test_functional_calls.py:0): x (N, 4) -> (N, 1)."""
    x = F.linear(x, **p[0])
    x = jnp.tanh(x)
    return F.linear(x, **p[2])

# ---- the next port of this test ----
"""JAX port of Critic (calls/test_functional_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def critic(p, x):
    """Critic (calls/test_functional_calls.py:0): x (N, 4) -> (N, 1)."""
    fast = {
        "0.weight": p["critic"][0]["weight"],
        "0.bias": p["critic"][0]["bias"],
        "2.weight": p["critic"][2]["weight"],
        "2.bias": p["critic"][2]["bias"],
    }
    item = fast["0.weight"] * 2
    acted = critic_critic(lax.stop_gradient(p["critic"]), F.linear(x, **p["actor"]))
    critic_p = [
        {"weight": item, "bias": fast["0.bias"]},
        p["critic"][1],
        {"weight": fast["2.weight"], "bias": fast["2.bias"]},
    ]
    return acted + critic_critic(critic_p, x)


def critic_critic(p, x):
    """Critic.critic (calls/test_functional_calls.py:0): x (N, 4) -> (N, 1)."""
    x = F.linear(x, **p[0])
    x = jnp.tanh(x)
    return F.linear(x, **p[2])

# ---- the next port of this test ----
"""JAX port of Critic (calls/test_functional_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def critic(p, x):
    """Critic (calls/test_functional_calls.py:0): x (N, 4) -> (N, 1)."""
    fast = {
        "0.weight": p["critic"][0]["weight"],
        "0.bias": p["critic"][0]["bias"],
        "2.weight": p["critic"][2]["weight"],
        "2.bias": p["critic"][2]["bias"],
    }
    item = fast["0.weight"] * 2
    acted = critic_critic(lax.stop_gradient(p["critic"]), F.linear(x, **p["actor"]))
    critic_p = [
        {"weight": item, "bias": fast["0.bias"]},
        p["critic"][1],
        {"weight": fast["2.weight"], "bias": fast["2.bias"]},
    ]
    return acted + critic_critic(critic_p, x)


def critic_critic(p, x):
    """Critic.critic (calls/test_functional_calls.py:0): x (N, 4) -> (N, 1)."""
    x = F.linear(x, **p[0])
    x = jnp.tanh(x)
    return F.linear(x, **p[2])

# ---- the next port of this test ----
"""JAX port of Critic (calls/test_functional_calls.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax.numpy as jnp
from jax import lax
from jaxgrad import functional

F = functional.at("2.13")


def critic(p, x):
    """Critic (calls/test_functional_calls.py:0): x (N, 4) -> (N, 1)."""
    fast = {
        "0.weight": p["critic"][0]["weight"],
        "0.bias": p["critic"][0]["bias"],
        "2.weight": p["critic"][2]["weight"],
        "2.bias": p["critic"][2]["bias"],
    }
    item = fast["0.weight"] * 2
    acted = critic_critic(lax.stop_gradient(p["critic"]), F.linear(x, **p["actor"]))
    critic_p = [
        {"weight": item, "bias": fast["0.bias"]},
        p["critic"][1],
        {"weight": fast["2.weight"], "bias": fast["2.bias"]},
    ]
    return acted + critic_critic(critic_p, x)


def critic_critic(p, x):
    """Critic.critic (calls/test_functional_calls.py:0): x (N, 4) -> (N, 1)."""
    x = F.linear(x, **p[0])
    x = jnp.tanh(x)
    return F.linear(x, **p[2])
