"""`torch.linalg`, name by name."""
