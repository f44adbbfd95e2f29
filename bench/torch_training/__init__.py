"""PyTorch's side of bench/train_torch.py: the models of `duet train`, and how their steps are run,
timed and recorded."""
