"""Run cases in torch and in JAX, in every dtype and mode."""
