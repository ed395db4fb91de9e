"""What autocast knows of torch's operations, and how it finds them in a jaxpr."""
