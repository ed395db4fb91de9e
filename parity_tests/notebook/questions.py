"""The questions of the notebooks, by the case whose results answer them."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Question:
    """A question that a reader answers before the answer is shown.

    Attributes:
        text: The question.
        at: Globs over the paths of the results that answer it.
        because: A sentence that explains the answer.
        element: The element of the array at the path `at` that answers it, instead of all results.
    """

    text: str
    at: str
    because: str
    element: int | None = None


QUESTIONS = {
    "backward/accumulate": Question(
        "After one `backward()` the `.grad` of `w` is 2. What is it after a second one, "
        "without `zero_grad()`?",
        "twice",
        "torch adds to `.grad`. In JAX you add the gradients yourself.",
    ),
    "grad_modes/detach": Question(
        "The network is input → L1 → L2 → loss, and L2 reads `l1(x).detach()`. After "
        "`loss.backward()`, is the gradient of L1 `None`, zero or another number?",
        "grads/l1/bias",
        "The loss has no path to L1, so nothing is ever written to its `.grad`.",
    ),
    "grad_modes/requires_grad_flag": Question(
        "At x = 2, `a = 3 * x` is computed inside `no_grad` and `b = 3 * x` after it. What is"
        " the derivative of `a * b` with respect to x?",
        "grad",
        "`a` is the constant 6, so the derivative is 6 · 3.",
    ),
    "backward/chain_rule": Question(
        "c = a·b and e = c·d, and `e.backward()` is called. The derivative of e with respect "
        "to c is d = 4. What is `c.grad`?",
        "c",
        "c is not a leaf, and torch keeps the gradients of leaves only.",
    ),
    "backward/several_uses": Question(
        "h is used in g/h, whose gradient for h is -72, and in i + h, whose gradient for h is"
        " 8. What is the gradient of h?",
        "h",
        "Gradients of several uses are added.",
    ),
    "none_or_zero/none_or_zero": Question(
        "The loss uses seven parameters, each in one way: `p * x`; `p * 0`; "
        "`torch.where(mask, p, x)` with a mask that is all False; `p.floor()`; `p.detach()`; "
        "`p.long()`; `p > 0`. It does not use an eighth. Which of the eight gradients are zero, "
        "and which are `None`?",
        "times_zero masked rounded detached as_integer compared unused",
        "Where a differentiable operation leads to the loss, there is a path, even if its "
        "derivative is zero.",
    ),
    "none_or_zero/branch_not_taken": Question(
        "`other` is used only in a branch that is not taken: in torch a branch of an `if`, in JAX "
        "one of `lax.cond`. Is its gradient `None` or zero, in torch and in JAX?",
        "other",
        "torch has never seen the branch; `lax.cond` contains both branches.",
    ),
    "grad_modes/requires_grad": Question(
        "L1 is frozen with `requires_grad_(False)`, or computed inside `no_grad`. In which "
        "case does the input x get a gradient?",
        "*)/x no_grad/x",
        "Freezing concerns L1's parameters, `no_grad` everything that passes through L1.",
    ),
    "actor_critic/critic_loss": Question(
        "If nothing is stopped, does the critic's loss give a gradient to the actor?",
        "open/grads/actor/l1/weight",
        "The action is computed by the actor, so the path exists unless you stop it.",
    ),
    "clipping/clip_grad_norm_at_max": Question(
        "A gradient has exactly the norm `max_norm`. Does torch make it shorter?",
        "shorter",
        "The factor is max_norm / (norm + 1e-6), which is less than 1. In float32 it can be "
        "rounded to 1 if the norm is above 12: at the norms 31 and 40 it is, at 30 and 41 not.",
    ),
    "clipping/clip_grad_value": Question(
        "Large gradients are clipped to the value 0.5. What does a clipped gradient look like?",
        "grads/fc1/bias",
        "Each element is clamped by itself, so most of them sit at the bound.",
    ),
    "hooks/tensor_hook": Question(
        "At x = 1, h = 2x is used as 3h + 5h, and a hook on h clamps its gradient to at most "
        "1. Is the gradient of x 2, 4 or 16?",
        "grad",
        "The hook sees the sum 8 once, makes it 1, and 2x multiplies it by 2.",
    ),
    "optim/every_other_step": Question(
        "L1's gradient is set to zero in step 1, and the optimizer has momentum. Is L1's bias"
        " after step 1 the same as after step 0?",
        "zero/params/0/l1/bias zero/params/1/l1/bias",
        "Momentum still carries the gradient of step 0, so the bias moves.",
    ),
    "custom/none_gradient": Question(
        "`backward` returns `None` for the input b. What is b's gradient?",
        "grads/b",
        "`from_function` keeps the `None`; a plain `custom_vjp` would turn it into zeros.",
    ),
    "surrogate/straight_through_twice": Question(
        "The loss is the square of a rounded value, with the straight-through rule. Is its "
        "second derivative 0 or 2?",
        "second",
        "The rule says that rounding is the identity, in every derivative.",
    ),
    "higher_order/gradient_penalty_flat": Question(
        "The critic is flat, so the norm in the penalty is 0. What is the gradient there: 0, "
        "1 or NaN?",
        "grad",
        "torch defines the gradient of a norm at zero as zero.",
    ),
    "graph/parameter_of_intermediate": Question(
        "`f = nn.Parameter(...)` is made from a value that depends on w. Which of w and f "
        "gets a gradient?",
        "w f",
        "A parameter is a leaf: it starts a new graph.",
    ),
    "mutation/inplace_saved": Question(
        "`e = c * d`, then `c += 1`, then `e.backward()`. What happens?",
        "backward*",
        "The product saved c, and its version has changed.",
    ),
    "mutation/inplace_not_saved": Question(
        "The same with `e = c + d`. What happens now?",
        "a b d",
        "A sum saves nothing.",
    ),
    "mutation/data": Question(
        "At x = 1 the program computes `y = x**2` and then sets `x.data` to 10. What is x's "
        "gradient?",
        "x.grad",
        "torch saved x itself, and `.data` hides the change from it.",
    ),
    "checkpointing/checkpoint_forgets_the_generator": Question(
        "A block with dropout is checkpointed without `preserve_rng_state`. Does the "
        "recomputation draw the same mask?",
        "same_mask",
        "torch's generator has moved on; a JAX key is a value.",
    ),
    "distributed/sum_in_the_loss": Question(
        "The inputs of four ranks would give the gradients 10, 50, 122 and 226. What are they"
        " if the loss is summed over the ranks?",
        "grad",
        "Each rank's loss contains all four, so every gradient is four times as large.",
    ),
    "control_flow/static_and_dynamic": Question(
        "The same loss is called three times with one input shape, and then once with another. "
        "How often is its graph built if it is dynamic, and if it is static?",
        "built/*",
        "A dynamic graph is built at every call, a static one once for each input shape.",
    ),
    "lr_scheduler/cosine_annealing_lr": Question(
        "`CosineAnnealingLR` starts at a learning rate of 0.1, with `T_max=25` and "
        "`eta_min=0.01`. What is the learning rate at step 50: 0.01, 0.055 or 0.1?",
        "lr",
        "The minimum is at step 25. After it the cosine rises again, for as long as it fell.",
        element=50,
    ),
    "optim/muon_of_a_vector": Question(
        "Muon is given a vector, such as a bias. Does torch update it, skip it or refuse it?",
        "refused",
        "Muon orthogonalizes matrices. `optax.contrib.muon` silently updates a vector with AdamW.",
    ),
    "param_groups/none_gradient": Question(
        "AdamW takes four steps, and in the second and third the gradient of L1 is `None`. What "
        "is L1's step count after each of the four?",
        "*/step",
        "torch skips a parameter without a gradient, and does not count the step either.",
    ),
}
