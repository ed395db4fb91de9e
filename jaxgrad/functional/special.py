"""`torch.special`, name by name."""
