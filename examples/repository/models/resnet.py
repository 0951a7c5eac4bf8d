"""A small ResNet of basic blocks, as in He et al. (2016), with a stem for small images."""

import torch
from torch import Tensor, nn
from torch.nn import functional


class BasicBlock(nn.Module):
    """Two 3x3 convolutions with a shortcut around them."""

    def __init__(self, channels_in: int, channels: int, *, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels_in, channels, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)
        self.downsample: nn.Module = nn.Identity()
        if stride != 1 or channels_in != channels:
            self.downsample = nn.Sequential(
                nn.Conv2d(channels_in, channels, 1, stride=stride, bias=False),
                nn.BatchNorm2d(channels),
            )

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output, (batch, channels, height / stride, width / stride)."""
        y = functional.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return functional.relu(y + self.downsample(x))


class ResNet(nn.Module):
    """A stem, four stages of blocks that each halve the image but the first, and a classifier."""

    def __init__(self, *, width: int = 32, layers: int = 2, classes: int = 100) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        blocks: list[nn.Module] = []
        channels_in = width
        for stage in range(4):
            channels = width * 2**stage
            for layer in range(layers):
                stride = 2 if stage > 0 and layer == 0 else 1
                blocks.append(BasicBlock(channels_in, channels, stride=stride))
                channels_in = channels
        self.blocks = nn.Sequential(*blocks)
        self.fc = nn.Linear(channels_in, classes)

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits, (batch, classes), of images of shape (batch, 3, height, width)."""
        x = functional.relu(self.bn1(self.conv1(images)))
        x = self.blocks(x)
        x = torch.flatten(functional.adaptive_avg_pool2d(x, 1), 1)
        return self.fc(x)
