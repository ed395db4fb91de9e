"""Run a torch module on its example inputs, and write what runs."""
