"""Consumers that receive through JMS: one JVM with the consumer program of `jms/`."""
