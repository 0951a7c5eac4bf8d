"""A discrete-event simulation of scheduling policies on a job log."""
