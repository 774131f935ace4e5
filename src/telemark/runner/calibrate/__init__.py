"""How much the engine can do on this host, measured against the built-in server."""
