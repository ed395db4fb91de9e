"""Prove that a JAX port has the gradients of a torch module, by comparing six surfaces.

`prove.prove` runs a `request`: it makes the `evidence`, judges the surfaces, and returns a
`report`.

record          what ran: `torch_side` runs the torch module or reads a dump of it, `jax_side`
                traces and runs the port
weights         maps each element of a torch tensor to an element of a JAX leaf
align           finds torch's intermediate values among the port's, by fingerprint
surfaces        structure, forward, backward, gradients, updates, precision: one file each judges
training_steps  what `updates` compares: buffers, weights, averages and moments after each step
dtypes          what `precision` compares: roundings, float32, and branches on a dtype
beside          checks beside the surfaces: other inputs, keys and masks, bounds, conjugates
locate          the first place of a difference, one file for each surface
causes          why programs differ: `mistakes` and other changes are tried, and `acceptance` is
                the one rule by which a change becomes the confirmed cause; `edited` proves an edit

`judge` compares two arrays. `report` is the result, `page` its HTML form, and `text` writes its
numbers. `command` loads files of pairs. `checks` and `users` turn an error of the user's code into
one sentence.
"""
