"""What the runner prints and writes."""
