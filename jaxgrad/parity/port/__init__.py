"""Write the JAX port of a torch module as readable source, and prove its gradients.

A module is run on its example inputs, and each statement that runs is interpreted: what depends on
the configuration is folded, what depends on sizes and tensors becomes code. Each folder imports
only folders above it:

- `ir`: the nodes of the intermediate representation, which the annotations of `ast` nodes hold.
- `source`: read the source of the torch program, build and write that of the port.
- `values`: what an expression is (folded, a size, a tensor, a module), and the state of a port.
- `functions`, `expressions`, `rules`, `calls`, `modules`, `statements`: interpret each kind of
  syntax; `rules` are the operators of torch, one line each.
- `modes`, `merging`: write train and eval mode once, and copies of a function once.
- `loops`: interpret loops, whose iterations are compared as copies of a function are.
- `interpretation`: which file interprets a statement, an expression or a call.
- `training`: the training step, with torch's optimizer and its schedule.
- `finish`: names, shapes, keys and line breaks of the written functions.
- `proof`: prove the port, and keep the proof beside its file.
- `nnx`: the port as flax classes.
"""
