"""Device activity from many monitoring tools, and the waste that it shows."""
