"""Write the JAX port of a torch module as readable source, and prove its gradients."""
