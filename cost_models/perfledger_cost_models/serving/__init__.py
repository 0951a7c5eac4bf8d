"""Load curves of servers, and the devices that keep a latency objective."""
