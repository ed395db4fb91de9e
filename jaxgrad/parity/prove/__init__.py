"""The proof of a port: two sides, aligned by value, judged on five surfaces.

prover      the call; proving: everything that was run, each part once
sides       torch's module or a dump of one, and the JAX program, both as functions of a draw
weights     which element of which torch tensor stands where in params
align       torch's values found among those of the JAX program, by their fingerprints
surfaces    structure, forward, backward, gradients, updates: verdict, place and cause of each
report      what is said of it;  page  as HTML;  pairs  files of pairs for the command
"""
