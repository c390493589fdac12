"""Says whether there is a GPU for the user's code."""

from __future__ import annotations

import os

_BY_NVML = "PYTORCH_NVML_BASED_CUDA_CHECK"


def sees_gpu() -> bool:
    """Whether torch sees a GPU here; it is asked in a way that leaves workers free to fork."""
    import torch

    usual = os.environ.get(_BY_NVML)
    os.environ[_BY_NVML] = "1"
    try:
        return torch.cuda.is_available()
    finally:
        del os.environ[_BY_NVML]
        if usual is not None:
            os.environ[_BY_NVML] = usual
