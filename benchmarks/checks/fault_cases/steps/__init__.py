"""Cases about a step and its process: later steps, compiled code, frameworks."""
