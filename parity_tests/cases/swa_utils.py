"""Averages of a model's weights over a training run."""

import jax.numpy as jnp
import optax

import jaxgrad
from jaxgrad.optim import swa_utils
from parity_tests.case import case
from parity_tests.inputs import normal


INPUTS = dict(w=normal(3), running=normal(3), x=normal(5, 4, 3))


def train(w, running, x, averaged):
    """Train for five steps; the buffer is a running mean of the data, as in a batch norm."""
    state = averaged.init({"w": w}, {"running": running})
    path = []
    for batch in x:
        grad = jaxgrad.grad(lambda w, batch=batch: jnp.mean((batch @ w) ** 2))(w)
        w = w - 0.5 * grad
        running = 0.9 * running + 0.1 * batch.mean(0)
        state = averaged.update(state, {"w": w}, {"running": running})
        path.append(state.module | state.buffers)
    return {"averages": path, "w": w, "n_averaged": state.n_averaged}


class Last(swa_utils.AveragedModel):
    """Return the last model instead of an average."""

    def __init__(self, **kwargs):
        super().__init__(lambda averaged, current, n: current, None, False)


@case(
    source="P147",
    inputs=INPUTS,
    idiom=("averaged.update_parameters(model)", "state = averaged.update(state, params)"),
    control=dict(averaged=Last),
)
def averaged_model(w, running, x, *, averaged=swa_utils.averaged_model):
    """AveragedModel stores the mean of the parameters after each step, and the last buffers."""
    return train(w, running, x, averaged())


def without_buffers(use_buffers):
    return swa_utils.averaged_model()


@case(
    source="P147",
    inputs=INPUTS,
    idiom=("AveragedModel(model, use_buffers=True)", "averaged_model(use_buffers=True)"),
    control=dict(averaged=without_buffers),
)
def averaged_model_buffers(w, running, x, *, averaged=swa_utils.averaged_model):
    """With `use_buffers` the buffers are averaged like the parameters."""
    return train(w, running, x, averaged(use_buffers=True))


class OptaxEma(swa_utils.AveragedModel):
    """`optax.ema`, which starts at zero and corrects the resulting bias."""

    def __init__(self, avg_fn):
        super().__init__(None, None, False)
        self.tx = optax.ema(0.7)

    def init(self, params, buffers=None):
        self.state = self.tx.init(params)
        return super().init(params, buffers)

    def update(self, state, params, buffers=None):
        module, self.state = self.tx.update(params, self.state)
        return state._replace(module=module, buffers=buffers, n_averaged=state.n_averaged + 1)


@case(
    source="P147",
    inputs=INPUTS,
    idiom=("AveragedModel(model, get_ema_avg_fn(.7))", "averaged_model(get_ema_avg_fn(.7))"),
    control=dict(averaged=OptaxEma),
)
def ema(w, running, x, *, averaged=swa_utils.averaged_model):
    """A moving average starts from the first model; `optax.ema` starts from zero."""
    return train(w, running, x, averaged(avg_fn=swa_utils.get_ema_avg_fn(0.7)))
