"""Losses of regression and of distributions."""

from __future__ import annotations

from jaxgrad import functional
from jaxgrad.nnx.module import Array, Layer


class L1Loss(Layer):
    """The absolute difference.

    Args:
        reduction: "mean", "sum" or "none".

    Example:
        >>> import jax.numpy as jnp
        >>> print(L1Loss()(jnp.zeros(2), jnp.array([1.0, 3.0])))
        2.0

    Torch: `torch.nn.L1Loss`.
    """

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def __call__(self, input: Array, target: Array) -> Array:
        return functional.l1_loss(input, target, reduction=self.reduction)


class MSELoss(Layer):
    """The squared difference.

    Args:
        reduction: "mean", "sum" or "none".

    Example:
        >>> import jax.numpy as jnp
        >>> print(MSELoss()(jnp.zeros(2), jnp.array([1.0, 3.0])))
        5.0

    Torch: `torch.nn.MSELoss`.
    """

    def __init__(self, *, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = reduction

    def __call__(self, input: Array, target: Array) -> Array:
        return functional.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(Layer):
    """The absolute difference, or the squared one divided by `beta` where it is below `beta`.

    Args:
        reduction: "mean", "sum" or "none".
        beta: Where the loss changes from quadratic to linear.

    Example:
        >>> import jax.numpy as jnp
        >>> print(SmoothL1Loss()(jnp.zeros(1), jnp.array([3.0])))
        2.5

    Torch: `torch.nn.SmoothL1Loss`.
    """

    def __init__(self, *, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__()
        self.reduction, self.beta = reduction, beta

    def __call__(self, input: Array, target: Array) -> Array:
        return functional.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(Layer):
    """The squared difference, or a linear loss where it is above `delta`.

    Args:
        reduction: "mean", "sum" or "none".
        delta: Where the loss changes from quadratic to linear.

    Example:
        >>> import jax.numpy as jnp
        >>> print(HuberLoss()(jnp.zeros(1), jnp.array([3.0])))
        2.5

    Torch: `torch.nn.HuberLoss`.
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__()
        self.reduction, self.delta = reduction, delta

    def __call__(self, input: Array, target: Array) -> Array:
        return functional.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class KLDivLoss(Layer):
    """The Kullback-Leibler divergence of log-probabilities from the target.

    Args:
        reduction: "mean", "batchmean", "sum" or "none".
        log_target: Whether the target holds log-probabilities.

    Example:
        >>> import jax.numpy as jnp
        >>> print(KLDivLoss(reduction="sum")(jnp.zeros(1), jnp.ones(1)))
        0.0

    Torch: `torch.nn.KLDivLoss`.
    """

    def __init__(self, *, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__()
        self.reduction, self.log_target = reduction, log_target

    def __call__(self, input: Array, target: Array) -> Array:
        return functional.kl_div(
            input, target, reduction=self.reduction, log_target=self.log_target
        )


class PoissonNLLLoss(Layer):
    """The negative log-likelihood of a Poisson distribution.

    Args:
        log_input: Whether the input is the logarithm of the rate.
        full: Whether to add the Stirling approximation.
        eps: Is added to the rate if `log_input` is False.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import jax.numpy as jnp
        >>> print(PoissonNLLLoss()(jnp.zeros(1), jnp.ones(1)))
        1.0

    Torch: `torch.nn.PoissonNLLLoss`.
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        *,
        eps: float = 1e-08,
        reduction: str = "mean",
    ) -> None:
        super().__init__()
        self.log_input, self.full, self.eps, self.reduction = log_input, full, eps, reduction

    def __call__(self, input: Array, target: Array) -> Array:
        return functional.poisson_nll_loss(
            input,
            target,
            log_input=self.log_input,
            full=self.full,
            eps=self.eps,
            reduction=self.reduction,
        )


class GaussianNLLLoss(Layer):
    """The negative log-likelihood of a normal distribution.

    Args:
        full: Whether to add the constant term.
        eps: Lower bound of the variance.
        reduction: "mean", "sum" or "none".

    Example:
        >>> import jax.numpy as jnp
        >>> print(GaussianNLLLoss()(jnp.zeros(1), jnp.ones(1), jnp.ones(1)))
        0.5

    Torch: `torch.nn.GaussianNLLLoss`.
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-06, reduction: str = "mean") -> None:
        super().__init__()
        self.full, self.eps, self.reduction = full, eps, reduction

    def __call__(self, input: Array, target: Array, var: Array | float) -> Array:
        return functional.gaussian_nll_loss(
            input, target, var, full=self.full, eps=self.eps, reduction=self.reduction
        )
