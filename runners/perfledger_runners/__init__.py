"""The agent: checkouts, child processes, machine facts, telemetry and the measuring of pairs."""
