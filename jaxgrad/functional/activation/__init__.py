"""Activation functions, softmax and dropout."""
