"""The texts and pages that the runner prints and writes."""
