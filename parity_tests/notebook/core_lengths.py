"""How many lines a lesson shows, and why some lessons show more.

A line counts if it is not empty. The imports, the inputs and the functions that a program calls are
folded, so they do not count.
"""

LINES = 10  # of each program in a lesson
LONGEST = 16  # of each program in a lesson with a reason
LESSONS = 15  # with a reason

# The lessons with a program of more than `LINES` lines, and the reason.
LONGER = {
    "actor_critic/train": "two optimizers take turns, and two target networks follow",
    "checkpointing/step_by_layer": "JAX pulls back one layer at a time and steps in between",
    "control_flow/data_dependent": "each sample takes one of two branches, in a loop",
    "control_flow/static_and_dynamic": "the graphs that three kinds of calls build are counted",
    "custom/closure": "a custom Function has a forward and a backward",
    "custom/needs_input_grad": "a custom Function has a forward and a backward",
    "grad_modes/recorded": "six ways to stop or skip a gradient stand side by side",
    "graph/attributes": "every attribute of a tensor is written out, as JAX derives each of them",
    "none_or_zero/none_or_zero": "eight ways to use a parameter stand side by side",
    "optim/every_other_step": "a training loop removes a gradient between backward and step",
    "precision/amp": "a training loop scales, unscales, clips, steps and updates the scale",
}
