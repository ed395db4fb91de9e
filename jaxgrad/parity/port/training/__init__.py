"""Write the training step: the loss, the optimizer and its schedule."""
