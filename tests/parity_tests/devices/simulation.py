"""A GPU or a TPU that is not there: a virtual CPU device takes its place."""

import jax
import torch


def simulate(monkeypatch, device):
    """Let JAX and torch find a device, and return the CPU device in its place.

    It is not JAX's default device, so a program that runs on the default one is noticed. torch
    finds a GPU if the device is one, and runs on the CPU.
    """
    usual, place = jax.devices, jax.devices("cpu")[1]

    def devices(platform=None):
        if platform in ("gpu", "tpu"):
            if platform != device:
                raise RuntimeError(f"Unknown backend: {platform!r}")
            return [place]
        return usual(platform)

    monkeypatch.setattr(jax, "devices", devices)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: device == "gpu")
    monkeypatch.setattr("parity_tests.runner.torch_side.torch_device", lambda device: "cpu")
    return place
