"""Find each intermediate value of a torch run among the values of a JAX program."""
