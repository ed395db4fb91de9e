"""`torch.fft`, name by name."""
