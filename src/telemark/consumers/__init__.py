"""Back-end consumers that are not MQTT devices: a contract, a registry, and one package for each kind."""
