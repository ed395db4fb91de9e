"""Cards on the losses of reinforcement learning."""

from parity_tests.site.traps.card import Card


REINFORCEMENT = (
    Card(
        name="a terminal state with a next value",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.tensor([[1.0], [-0.5]]))

    def forward(self, s, reward, next_s, done):
        target = reward + 0.9 * (1 - done) * (next_s @ self.w)
        return F.mse_loss(s @ self.w, target.detach())


inputs = (
    np.float32([[1, 0], [0, 1], [1, 0]]),  # states A, B and A
    np.float32([[0], [1], [0]]),  # the rewards
    np.float32([[0, 1], [1, 0], [0, 1]]),  # the next states; after B, the A of a new episode
    np.float32([[0], [1], [0]]),  # B is the end
)""",
        wrong="""\
def port(params, s, reward, next_s, done):
    target = reward + 0.9 * (next_s @ params["w"])
    return jnp.mean((s @ params["w"] - lax.stop_gradient(target)) ** 2)""",
        right="""\
def port(params, s, reward, next_s, done):
    target = reward + 0.9 * (1 - done) * (next_s @ params["w"])
    return jnp.mean((s @ params["w"] - lax.stop_gradient(target)) ** 2)""",
        trap="After a terminal state there is no reward: its target is the reward alone. Without "
        "`1 - done` the value of the next episode's first state is added. A batch in which no "
        "episode ends has torch's loss and gradients.",
    ),
    Card(
        name="a PPO ratio that is always 1",
        torch="""\
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.logits = nn.Parameter(torch.tensor([0.5, -1.0, 0.2]))

    def forward(self, action, old_logp, advantage):
        logp = F.log_softmax(self.logits, dim=0)[action]
        ratio = torch.exp(logp - old_logp)
        clipped = ratio.clamp(0.8, 1.2)
        return -torch.min(ratio * advantage, clipped * advantage).mean()


inputs = (
    np.array([0, 1, 2, 0]),  # the actions
    np.float32([-0.8, -1.5, -1.1, -0.6]),  # stored when the actions were taken
    np.float32([1.0, -2.0, 0.5, 1.5]),  # the advantages
)""",
        wrong="""\
def port(params, action, old_logp, advantage):
    logp = jax.nn.log_softmax(params["logits"])[action]
    ratio = jnp.exp(logp - lax.stop_gradient(logp))
    clipped = jnp.clip(ratio, 0.8, 1.2)
    return -jnp.minimum(ratio * advantage, clipped * advantage).mean()""",
        right="""\
def port(params, action, old_logp, advantage):
    logp = jax.nn.log_softmax(params["logits"])[action]
    ratio = jnp.exp(logp - old_logp)
    clipped = jnp.clip(ratio, 0.8, 1.2)
    return -jnp.minimum(ratio * advantage, clipped * advantage).mean()""",
        trap="`old_logp` was stored when the actions were taken. `stop_gradient(logp)` is the "
        "log-probability of now, so the ratio is always 1, it is never clipped, and the loss is "
        "minus the mean advantage. Both agree in the first step on a batch, before the policy has "
        "changed.",
    ),
)
