"""Real worlds for tests: repositories, remotes over three transports, and the machines that callers have."""
