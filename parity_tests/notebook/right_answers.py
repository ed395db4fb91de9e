"""The sentence that answers each question, for the notes for teachers.

The results that the notebooks compute stand below it; tests compare the two.
"""

# By the id of the question in `parity_tests/notebook/questions.py`, or its text.
ANSWERS = {
    "backward/accumulate": "It is 4.",
    "actor_critic/critic_loss": "Yes: the gradient of the actor is not zero.",
    "backward/chain_rule": "It is `None`.",
    "backward/several_uses": "It is -64, the sum of -72 and 8.",
    "clipping/clip_grad_norm_at_max": "Yes, by a tiny amount.",
    "clipping/clip_grad_value": "Most of its elements are 0.5 or -0.5, so its direction changes.",
    "control_flow/static_and_dynamic": "A dynamic graph is built at each of the four calls, which "
    "makes 3 for the first three. A static graph is built twice: once for the first three calls, "
    "and once for the other shape.",
    "custom/none_gradient": "It is `None`, in torch and in JAX.",
    "surrogate/straight_through_twice": "It is 2.",
    "distributed/sum_in_the_loss": "They are 40, 200, 488 and 904.",
    "grad_modes/requires_grad": "Only with `requires_grad_(False)`; with `no_grad` it is `None`.",
    "grad_modes/detach": "It is `None`.",
    "grad_modes/requires_grad_flag": "It is 18.",
    "graph/parameter_of_intermediate": "Only f: its gradient is 3, and that of w is `None`.",
    "higher_order/gradient_penalty_flat": "It is 0.",
    "hooks/tensor_hook": "It is 2.",
    "lr_scheduler/cosine_annealing_lr": "It is 0.1 again.",
    "checkpointing/checkpoint_forgets_the_generator": "Not in torch. In JAX it does.",
    "mutation/inplace_saved": "torch raises a `RuntimeError`. JAX computes the gradients of the "
    "program without the change.",
    "mutation/inplace_not_saved": "Nothing: `backward()` works, and the gradients are right.",
    "mutation/data": "In torch it is 20, which is wrong. In JAX it is 2.",
    "none_or_zero/none_or_zero": "Three are zero: multiplied by zero, masked out and rounded down. "
    "Four are `None`: detached, cast to an integer, compared and not used at all.",
    "none_or_zero/branch_not_taken": "It is `None` in torch and zero in JAX.",
    "optim/every_other_step": "No: the bias moves, although its gradient is zero.",
    "optim/muon_of_a_vector": "torch refuses it, with an error.",
    "param_groups/none_gradient": "It is 1, 1, 1 and 2.",
    "Which leaves of the params does AdamW not train, and do they change in these 60 steps?": (
        "The buffers of both BatchNorm layers: the running mean, the running variance and the "
        "count of batches. All six change."
    ),
    "A port stops the gradient of one residual branch, which torch does not stop: "
    "`h = h + lax.stop_gradient(branch(h))`. `prove` compares structure, forward pass, backward "
    "pass (the cotangents of intermediate values), gradients, updates and precision. Which of "
    "these six surfaces differ?": (
        "Four differ: structure, backward, gradients and updates. Forward and precision agree."
    ),
}
