"""Commands about workloads and this machine."""
