"""The free devices of a pool's nodes, and the choice among them for a job."""
