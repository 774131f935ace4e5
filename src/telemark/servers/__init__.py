"""Server adapters: one file per server, one small contract."""
