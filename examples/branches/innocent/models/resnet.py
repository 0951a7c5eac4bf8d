"""A small ResNet of basic blocks, as in He et al. (2016), with a stem for small images."""

from torch import Tensor, nn
from torch.nn import functional

STAGES = 4  # each but the first halves the image and doubles the channels


class ConvolutionNorm(nn.Module):
    """A convolution without bias, which the batch norm behind it would undo."""

    def __init__(self, channels_in: int, channels: int, *, kernel: int, stride: int = 1) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(
            channels_in, channels, kernel, stride=stride, padding=kernel // 2, bias=False
        )
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalised maps, (batch, channels, height / stride, width / stride)."""
        return self.norm(self.convolution(x))


class BasicBlock(nn.Module):
    """Two 3x3 convolutions with a shortcut around them."""

    def __init__(self, channels_in: int, channels: int, *, stride: int = 1) -> None:
        super().__init__()
        self.first = ConvolutionNorm(channels_in, channels, kernel=3, stride=stride)
        self.second = ConvolutionNorm(channels, channels, kernel=3)
        has_same_shape = stride == 1 and channels_in == channels
        self.shortcut: nn.Module = (
            nn.Identity()
            if has_same_shape
            else ConvolutionNorm(channels_in, channels, kernel=1, stride=stride)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output, (batch, channels, height / stride, width / stride)."""
        residual = self.second(functional.relu(self.first(x)))
        return functional.relu(residual + self.shortcut(x))


class ResNet(nn.Module):
    """A stem, four stages of blocks and a classifier over the average of the last maps."""

    def __init__(self, *, width: int = 32, layers: int = 2, classes: int = 100) -> None:
        super().__init__()
        self.stem = ConvolutionNorm(3, width, kernel=3)
        self.blocks = nn.Sequential(*build_stages(width, layers))
        self.classifier = nn.Linear(width * 2 ** (STAGES - 1), classes)

    def forward(self, images: Tensor) -> Tensor:
        """Return the logits, (batch, classes), of images of shape (batch, 3, height, width)."""
        maps = self.blocks(functional.relu(self.stem(images)))
        return self.classifier(functional.adaptive_avg_pool2d(maps, 1).flatten(1))


def build_stages(width: int, layers: int) -> list[nn.Module]:
    """Return the blocks of all stages, in order: `layers` a stage."""
    blocks: list[nn.Module] = []
    channels_in = width
    for stage in range(STAGES):
        channels = width * 2**stage
        for layer in range(layers):
            stride = 2 if stage > 0 and layer == 0 else 1
            blocks.append(BasicBlock(channels_in, channels, stride=stride))
            channels_in = channels
    return blocks
