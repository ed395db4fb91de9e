"""Activations, softmaxes and dropout."""
