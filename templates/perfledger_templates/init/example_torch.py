"""A first workload: replace it with a step that matters to you."""

import torch

import perfledger

# << import_hint >>

BATCH, WIDTH = 64, 512


@perfledger.workload(unit="samples", units_per_step=BATCH)
def train_step(device: str = "cpu"):  # perfledger passes the device that it measures on
    """Train a small network for one step."""
    torch.manual_seed(0)  # set-up: not measured
    model = torch.nn.Sequential(
        torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH)
    ).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    data = torch.randn(BATCH, WIDTH, device=device)

    def step():  # measured, again and again; perfledger synchronises the device
        optimizer.zero_grad()
        loss = model(data).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step
