"""Readers of device-hours from Slurm, Prometheus and Kubernetes."""
