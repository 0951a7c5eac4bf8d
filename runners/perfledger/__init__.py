"""The part of perfledger that runs inside the user's process: standard library only."""

from perfledger.workload import workload as workload
