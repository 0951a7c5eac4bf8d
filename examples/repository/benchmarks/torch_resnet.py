"""Classifying a batch of images with a ResNet."""

from collections.abc import Callable

import perfledger
import torch
from torch import Tensor

from models.resnet import ResNet


@perfledger.workload(unit="images", units_per_step=lambda batch: batch, set_ups=5)
def inference(
    device: str, batch: int = 8, size: int = 32, width: int = 16, layers: int = 2
) -> Callable[[], Tensor]:
    if device == "cpu":
        torch.set_num_threads(1)  # other work runs on the other cores
    torch.manual_seed(0)
    model = ResNet(width=width, layers=layers).eval().to(device)
    images = torch.randn(batch, 3, size, size).to(device)

    @torch.inference_mode()
    def step() -> Tensor:
        return model(images)

    return step
