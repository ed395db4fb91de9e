"""torch's loss functions."""
