"""A plan becomes a run folder: phases, rendezvous, engine processes, health."""
