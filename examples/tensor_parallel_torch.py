"""A tensor-parallel MLP in PyTorch, whose products are made while Duet moves their rows:

    torchrun --nproc-per-node 2 examples/tensor_parallel_torch.py      on GPUs, or without one on CPUs

Each rank has its rows of a batch, and its columns of the first weight and rows of the second one. The
rows of all ranks are gathered for the first product, and the second one's are summed into each rank's.
"""
import os

import torch
import torch.distributed as dist

import duet.torch

WIDTH, HIDDEN, ROWS, STEPS = 64, 256, 32, 60  # HIDDEN of all ranks, ROWS of each


class MLP(torch.nn.Module):
    def __init__(self, comm):
        super().__init__()
        self.comm, own = comm, HIDDEN // comm.size
        self.up = torch.nn.Parameter(torch.randn(WIDTH, own, device=comm.device) / WIDTH ** 0.5)
        self.down = torch.nn.Parameter(torch.randn(own, WIDTH, device=comm.device) / HIDDEN ** 0.5)

    def forward(self, x):
        hidden = torch.relu(duet.torch.all_gather_matmul(x, self.up, self.comm))
        return duet.torch.matmul_reduce_scatter(hidden, self.down, self.comm)


def main():
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
    with duet.torch.Communicator() as comm:
        torch.manual_seed(comm.rank)
        model = MLP(comm)
        optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
        x = torch.randn(ROWS, WIDTH, device=comm.device)
        for step in range(STEPS):
            optimizer.zero_grad()
            loss = (model(x) - x.sin()).pow(2).mean()
            loss.backward()  # of all ranks' losses: each parameter is on one rank, with its whole gradient
            optimizer.step()
            mean = duet.torch.all_reduce(loss.detach(), comm, "avg").item()
            if comm.rank == 0 and step % 20 == 19:
                print(f"step {step + 1}: loss {mean:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
