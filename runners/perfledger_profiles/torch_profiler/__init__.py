"""Owns the reader of torch.profiler (Kineto) traces."""
