"""Run a module in torch, and observe what its call leaves behind."""
