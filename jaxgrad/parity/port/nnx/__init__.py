"""Write a port as flax nnx classes: one for each torch module class."""
