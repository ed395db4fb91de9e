"""The two sides of a proof, run on the same draws of weights and inputs."""
