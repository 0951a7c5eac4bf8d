"""A small GPT: pre-norm decoder blocks with causal self-attention, as in GPT-2."""

import math
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

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return the attended values, in the shape of x, and the weights that made them."""
        heads = self.query_key_value(x).unflatten(2, (3 * self.heads, -1)).transpose(1, 2)
        query, key, value = heads.chunk(3, dim=1)
        weights = attention_weights(query, key)
        attended = weights @ value
        return self.projection(attended.transpose(1, 2).flatten(2)), weights


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
        attended, _ = self.attention(self.attention_norm(x))
        x = x + attended
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


def attention_weights(query: Tensor, key: Tensor) -> Tensor:
    """Return how much each token attends to each, (batch, heads, length, length)."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    is_later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
    return scores.masked_fill(is_later, -math.inf).softmax(dim=-1)


def initialise(module: nn.Module) -> None:
    """Draw a layer's weights as GPT-2 does."""
    if isinstance(module, nn.Linear | nn.Embedding):
        nn.init.normal_(module.weight, std=0.02)
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.bias)


def language_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the mean cross entropy of the targets, (batch, length), in nats."""
    return functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
