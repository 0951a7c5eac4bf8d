"""Owns what runs inside the user's process, with the standard library only."""

from perfledger.workload import workload as workload
