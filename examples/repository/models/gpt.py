"""A small GPT: pre-norm decoder blocks with causal self-attention, as in GPT-2."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional


@dataclass(frozen=True, slots=True, kw_only=True)
class GPTConfig:
    """The sizes of a model."""

    vocabulary: int = 512
    context: int = 256
    width: int = 128
    heads: int = 4
    layers: int = 4


class CausalSelfAttention(nn.Module):
    """Multi-head attention in which a token sees itself and those before it."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.query_key_value = nn.Linear(config.width, 3 * config.width)
        self.projection = nn.Linear(config.width, config.width)

    def forward(self, x: Tensor) -> Tensor:
        """Return the attended values, in the shape of x: (batch, length, width)."""
        heads = self.query_key_value(x).unflatten(2, (3 * self.heads, -1)).transpose(1, 2)
        query, key, value = heads.chunk(3, dim=1)
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.projection(attended.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Attention, then a two-layer perceptron, each with a residual connection."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(config.width)
        self.attention = CausalSelfAttention(config)
        self.perceptron_norm = nn.LayerNorm(config.width)
        self.perceptron = nn.Sequential(
            nn.Linear(config.width, 4 * config.width),
            nn.GELU(approximate="tanh"),
            nn.Linear(4 * config.width, config.width),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the block's output, in the shape of x: (batch, length, width)."""
        x = x + self.attention(self.attention_norm(x))
        return x + self.perceptron(self.perceptron_norm(x))


class GPT(nn.Module):
    """A decoder-only language model whose head shares the embedding's weights."""

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.token_embedding = nn.Embedding(config.vocabulary, config.width)
        self.position_embedding = nn.Embedding(config.context, config.width)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.layers))
        self.norm = nn.LayerNorm(config.width)
        self.apply(initialise)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the logits of the next token, (batch, length, vocabulary)."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.token_embedding(tokens) + self.position_embedding(positions)
        for block in self.blocks:
            x = block(x)
        return functional.linear(self.norm(x), self.token_embedding.weight)


def initialise(module: nn.Module) -> None:
    """Draw a layer's weights as GPT-2 does."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)


def language_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross entropy of the targets, (batch, length), in nats."""
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
