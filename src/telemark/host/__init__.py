"""What is true of this machine: Java, cache, secrets, limits, ports, facts, and the processes we start on it."""
