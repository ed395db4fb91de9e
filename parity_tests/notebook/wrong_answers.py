"""The wrong answers that a class gives, by the question or exercise, and the idea behind each."""

from typing import NamedTuple


class WrongAnswer(NamedTuple):
    says: str  # what a student answers or writes
    thinks: str  # the idea behind it, and what to ask or show


# By the id of the question in `parity_tests/notebook/questions.py`.
QUESTIONS = {
    "backward/accumulate": WrongAnswer(
        "2",
        "`backward` is taken for an assignment. Ask what `zero_grad` would be for if it were.",
    ),
    "actor_critic/critic_loss": WrongAnswer(
        "no: the critic's loss trains the critic",
        "A network is thought to stop gradients at its boundary. Let the student trace the path "
        "from the loss to the "
        "action.",
    ),
    "backward/chain_rule": WrongAnswer(
        "4",
        "The value is right, but torch does not keep it: `c` is not a leaf. Ask for `c.is_leaf`.",
    ),
    "backward/several_uses": WrongAnswer(
        "8, the gradient of the last use",
        "A later use is thought to overwrite an earlier one. Show the sum in the chain rule.",
    ),
    "clipping/clip_grad_norm_at_max": WrongAnswer(
        "no: the norm is not larger than `max_norm`",
        "True for `max_norm / norm`. torch adds 1e-6 to the norm before it divides.",
    ),
    "clipping/clip_grad_value": WrongAnswer(
        "it points in the same direction and is shorter",
        "Clipping by value is confused with clipping by norm. Draw both for a vector of two "
        "numbers.",
    ),
    "control_flow/static_and_dynamic": WrongAnswer(
        "a static graph is built once, whatever the shape of the input",
        "`jit` compiles for a shape and a dtype. Print something inside of the function to see it.",
    ),
    "custom/none_gradient": WrongAnswer(
        "zeros",
        "True for a plain `jax.custom_vjp`. `None` says that the input has no gradient.",
    ),
    "surrogate/straight_through_twice": WrongAnswer(
        "0, as rounding is constant between the jumps",
        "The derivative is that of the rule, not that of rounding; so is the second one.",
    ),
    "distributed/sum_in_the_loss": WrongAnswer(
        "10, 50, 122 and 226: each rank has its own loss",
        "The sum couples the ranks: each loss contains the values of all of them.",
    ),
    "grad_modes/requires_grad": WrongAnswer(
        "in neither case: L1 is frozen in both",
        "A frozen parameter does not stop the gradient of the input. Only `no_grad` records "
        "nothing.",
    ),
    "grad_modes/detach": WrongAnswer(
        "zero",
        "“No influence” is taken for a derivative of zero. torch writes nothing, and an optimizer "
        "treats the two differently: ask what weight decay does.",
    ),
    "grad_modes/requires_grad_flag": WrongAnswer(
        "36, as a · b is 9x²",
        "`a` is treated as a function of x. Inside `no_grad` it became the number 6.",
    ),
    "graph/parameter_of_intermediate": WrongAnswer(
        "both: f was computed from w",
        "`nn.Parameter` makes a new leaf. It shares the memory of `f`, and forgets where the value "
        "came from.",
    ),
    "higher_order/gradient_penalty_flat": WrongAnswer(
        "NaN",
        "So `jnp.linalg.norm` has it: the slope of the root at 0 is infinite, and the chain rule "
        "multiplies it by 0. torch's `norm` defines 0 there.",
    ),
    "hooks/tensor_hook": WrongAnswer(
        "4: each of the two uses is clamped to 1",
        "The hook is thought to run once for each use. torch adds the uses first, and calls it "
        "once.",
    ),
    "lr_scheduler/cosine_annealing_lr": WrongAnswer(
        "0.01: the schedule is over after `T_max` steps",
        "True for optax's cosine schedule. torch's goes on along the cosine, which rises again.",
    ),
    "checkpointing/checkpoint_forgets_the_generator": WrongAnswer(
        "yes: it is the same block with the same input",
        "The generator is an input too. In JAX one sees it: the key is an argument.",
    ),
    "mutation/inplace_saved": WrongAnswer(
        "the gradients are computed with the new value of c",
        "torch saved the tensor, not its number, and compares version counters before it uses it.",
    ),
    "mutation/inplace_not_saved": WrongAnswer(
        "it raises again",
        "The in-place change is blamed. What matters is whether the backward formula needs the "
        "value.",
    ),
    "mutation/data": WrongAnswer(
        "2, or an error as before",
        "`.data` does not raise the version counter, so torch uses the changed value unnoticed.",
    ),
    "none_or_zero/none_or_zero": WrongAnswer(
        "all of them are zero, as none changes the loss when it changes a little",
        "The size of a derivative is confused with the existence of a path.",
    ),
    "none_or_zero/branch_not_taken": WrongAnswer(
        "`None` in both",
        "A compiled `cond` has both branches, and one structure of gradients for both outcomes.",
    ),
    "optim/every_other_step": WrongAnswer(
        "yes: the gradient is zero",
        "The step is the momentum, which remembers step 0. With `None` the parameter would stay.",
    ),
    "optim/muon_of_a_vector": WrongAnswer(
        "it updates it like any other parameter",
        "True for `optax.contrib.muon`, which silently uses AdamW for it.",
    ),
    "param_groups/none_gradient": WrongAnswer(
        "1, 2, 3, 4",
        "The count is thought to belong to the optimizer. torch counts for each parameter.",
    ),
    "Which leaves of the params does AdamW not train, and do they change in these 60 steps?": (
        WrongAnswer(
            "BatchNorm's statistics, and they stay, as nothing trains them",
            "An optimizer does not change them, but the forward pass of train mode returns new "
            "ones.",
        )
    ),
    "A port stops the gradient of one residual branch, which torch does not stop: "
    "`h = h + lax.stop_gradient(branch(h))`. `prove` compares structure, forward pass, backward "
    "pass (the cotangents of intermediate values), gradients, updates and precision. Which of "
    "these six surfaces differ?": WrongAnswer(
        "forward too: a stopped block computes something else",
        "`stop_gradient` is the identity in the forward pass. That is why the mistake is silent.",
    ),
}

# By the name of the exercise, its file and function in `parity_tests/notebook/solutions/`.
EXERCISES = {
    "ten_minutes/two_batches": WrongAnswer(
        "the mean of both gradients, or that of the last batch",
        "`backward` adds: it neither averages nor overwrites.",
    ),
    "ten_minutes/bootstrapped_target": WrongAnswer(
        "`stop_gradient` around the whole loss, or around `w` everywhere",
        "Stop the value that torch detaches, where it is used, and nothing else.",
    ),
    "actor_critic/train_the_actor_only": WrongAnswer(
        "`stop_gradient` around the value, or around the action",
        "Both cut the actor off. Stop the critic's parameters where they are used.",
    ),
    "actor_critic/follow_slowly": WrongAnswer(
        "`stop_gradient` around the average",
        "Harmless and needless: nothing outside of a differentiated function has a gradient.",
    ),
    "backward/rest_of_the_program": WrongAnswer(
        "`jax.grad` of the whole program with respect to `c`",
        "`c` is not an argument there. Make it one: differentiate the program that starts at `c`.",
    ),
    "backward/jacobian_by_rows": WrongAnswer(
        "`pull_back(y)`, or `pull_back(jnp.ones(3))`",
        "Both give a weighted sum of the rows. One row needs a cotangent of 1 for its output and 0 "
        "for the others.",
    ),
    "clipping/by_hand": WrongAnswer(
        "each array is clipped by its own norm",
        "The norm is taken over all gradients together: 13, not 5 and 12.",
    ),
    "clipping/each_its_own": WrongAnswer(
        "`jaxgrad.clip_grad_norm(grads, 1.0)`",
        "That is one norm for all. Each gradient needs a call of its own, so that the direction of "
        "the whole changes.",
    ),
    "control_flow/branch_on_a_value": WrongAnswer(
        "`if` inside of `jit`, or `jnp.where` without a reason",
        "The `if` raises. `jnp.where` works here. It fails where the slope of the branch that is "
        "not chosen is infinite or NaN, as that of `sqrt` at 0 is, because 0 · ∞ is NaN.",
    ),
    "control_flow/terms_until_small": WrongAnswer(
        "`lax.while_loop`",
        "It has no reverse mode, since the number of iterations is unknown. `scan` has a length.",
    ),
    "custom/slower_gradient": WrongAnswer(
        "`0.1 * x` in the forward pass",
        "That scales the value as well. The rule changes the backward pass only.",
    ),
    "custom/clipped_straight_through": WrongAnswer(
        "`x + stop_gradient(round(clip(x)) - x)`",
        "Its gradient is 1 everywhere. The clamp has to stay outside of `stop_gradient`, so that "
        "the gradient is 0 beyond the bounds.",
    ),
    "distributed/only_real_rows": WrongAnswer(
        "the mean of each device's rows, then the mean over the devices",
        "The devices have different numbers of real rows. Sum the squares and the rows over the "
        "devices, then divide.",
    ),
    "distributed/norm_of_a_sharded_gradient": WrongAnswer(
        "the sum of both norms, 7",
        "Squares add up, norms do not: sum the squares over the devices, then take the root.",
    ),
    "freezing/only_biases": WrongAnswer(
        "`stop_gradient` around the weights",
        "The gradients are then zeros, and weight decay still moves the weights.",
    ),
    "freezing/frozen_is_not_stopped": WrongAnswer(
        "the input of a frozen layer gets no gradient",
        "The gradient with respect to the input does not need the one with respect to the weight.",
    ),
    "grad_modes/one_term_of_a_sum": WrongAnswer(
        "`x.detach()**2` and `lax.stop_gradient(x)` before the function",
        "The first is right, the second stops nothing: stop the value inside of the function.",
    ),
    "grad_modes/stopped_too_early": WrongAnswer(
        "`stop_gradient` has a bug, or `jit` removed it",
        "An array carries no record. What is stopped is a value inside of a differentiated "
        "function.",
    ),
    "grad_modes/same_value_other_gradient": WrongAnswer(
        "`stop_gradient(a * b + a)`",
        "Then a gets nothing either. Ask for each factor and each term: whose gradient is wanted?",
    ),
    "graph/bytes_that_are_kept": WrongAnswer(
        "400 and 400: each operation keeps its input",
        "The derivative of `exp` needs its result, that of a sum needs nothing.",
    ),
    "graph/read_both_graphs": WrongAnswer(
        "both lists in the same order",
        "torch's nodes lead from the result to the leaf, a jaxpr from the argument to the result.",
    ),
    "higher_order/penalty_on_curvature": WrongAnswer(
        "the square of the slope",
        "One more `jax.grad` is missing, also with respect to x: `argnums=1` twice.",
    ),
    "higher_order/norm_at_zero": WrongAnswer(
        "one `jnp.where` around the root",
        "The backward pass multiplies zero by the infinite slope: NaN. Mask the argument as well.",
    ),
    "hooks/unit_gradient": WrongAnswer(
        "`jaxgrad.hook(h, fn)` on a line of its own, or `h / jnp.linalg.norm(h)`",
        "torch's hook changes the tensor; `jaxgrad.hook` returns a new value, which the loss must "
        "use. Dividing `h` changes the loss. A hook changes the gradient only.",
    ),
    "hooks/once_or_per_use": WrongAnswer(
        "the same gradient for both",
        "Per use, 3 and -5 are clamped before they are added; once, the sum -2 is.",
    ),
    "lr_scheduler/warm_up": WrongAnswer(
        "`optax.linear_schedule(0, 0.1, 4)`",
        "torch starts at `start_factor` times the rate. A rate of 0 takes no first step.",
    ),
    "lr_scheduler/average_from_the_first_model": WrongAnswer(
        "an average that starts at 0, with or without a corrected bias",
        "Adam's moments start so. torch's average starts as a copy of the first model.",
    ),
    "memory/two_segments": WrongAnswer(
        "`jax.checkpoint` around each layer",
        "Each layer's input is then kept. A segment keeps one input for four layers.",
    ),
    "memory/uneven_micro_batches": WrongAnswer(
        "the mean of the two gradients",
        "Right only for equal sizes: weight each mean by its share of the rows.",
    ),
    "mutation/which_one_raises": WrongAnswer(
        "all three, or `sin` and `square`",
        "`sin` and `square` save their input, which does not change; `exp` saves its result, which "
        "does.",
    ),
    "mutation/keep_the_activation": WrongAnswer(
        "`float(h)`, or `jax.device_get`, inside of the function",
        "A tracer has no number to read. Return the value.",
    ),
    "none_or_zero/transposed": WrongAnswer(
        "[5, 3, 0] for `backward` too, or [5, 2]",
        "The first is the linear part again, a column of the Jacobian; its transpose takes one "
        "number for each output and returns one for each input. The second forgets a use of x0: "
        "let the student draw both arrows from x0. In code: `linear(g)` without a transpose, which "
        "raises because `g` has three numbers, and the tuple that `linear_transpose` returns.",
    ),
    "none_or_zero/decay_that_skips_none": WrongAnswer(
        "`jnp.where(g == 0, p, ...)`",
        "That skips zeros too, which torch decays. `None` is a structure, not a number. With "
        "`tree.map(step, grads, params)` JAX raises: there a `None` is a subtree without leaves.",
    ),
    "none_or_zero/one_of_each": WrongAnswer(
        "`b.detach()` for the zero",
        "A detached value leaves no path: `None`. For a zero there must be a path. JAX's arrays "
        "have no `detach`, and the reply says that the loss has to run in both.",
    ),
    "optim/momentum_by_hand": WrongAnswer(
        "`momentum = 0.9 * momentum + 0.1 * grad`",
        "That is an average, as in Adam. torch's SGD adds the whole gradient: its `dampening` is "
        "0.",
    ),
    "optim/skip_a_step": WrongAnswer(
        "the parameter is restored, and the state is not",
        "The moments and the count would still see the zero: keep both.",
    ),
    "optimizers/adamw_with_torchs_decay": WrongAnswer(
        "`optax.adamw(0.1)`: the algorithm is the same",
        "The algorithm is the same. The default of the weight decay is not: 1e-4, in torch 1e-2.",
    ),
    "optimizers/rmsprop_with_torchs_defaults": WrongAnswer(
        "only `decay=0.99`",
        "optax also adds `eps` inside of the root.",
    ),
    "param_groups/biases_without_decay": WrongAnswer(
        "the bias decays too, as one group has a weight decay",
        "A group that names none gets the optimizer's own value, which is 0 here.",
    ),
    "param_groups/frozen_but_moving": WrongAnswer(
        "`l1` stays at 1",
        "`optax.masked` passes the raw gradient through, and `apply_updates` adds it: 1 + 1.",
    ),
    "port_a_model/without_item": WrongAnswer(
        "`x / x.abs().max()`, without the condition",
        "That also rescales an input below 1. `port` proves it nevertheless: it compares the JAX "
        "function that it wrote with the module that it was given.",
    ),
    "prove_your_port/default_of_gelu": WrongAnswer(
        "a looser tolerance: three digits agree",
        "Rounding in float64 is near 1e-16. An error of 1e-3 comes from a different function.",
    ),
}
