"""torch's pooling functions."""
