"""A GPT training step: forward, backward and AdamW."""

from collections.abc import Callable
from itertools import cycle

import perfledger
import torch
from torch import Tensor

from models.gpt import GPT, GPTConfig, language_loss


@perfledger.workload(
    unit="tokens", units_per_step=lambda batch, context: batch * context, set_ups=5
)
def train_step(
    device: str,
    batch: int = 1,
    context: int = 256,
    width: int = 96,
    heads: int = 4,
    layers: int = 2,
) -> Callable[[], Tensor]:
    if device == "cpu":
        torch.set_num_threads(1)  # other work runs on the other cores
    torch.manual_seed(0)
    config = GPTConfig(context=context, width=width, heads=heads, layers=layers)
    model = GPT(config).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    tokens = torch.randint(config.vocabulary, (8, batch, context + 1)).to(device)
    batches = cycle(tokens)

    def step() -> Tensor:
        batch_of_tokens = next(batches)
        optimizer.zero_grad()
        loss = language_loss(model(batch_of_tokens[:, :-1]), batch_of_tokens[:, 1:])
        loss.backward()
        optimizer.step()
        return loss.detach()

    return step
