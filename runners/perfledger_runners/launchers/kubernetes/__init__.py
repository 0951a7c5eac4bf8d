"""Runs submissions as Jobs of Kubernetes: manifests, requests with kubectl, and states."""
