"""Sweeps: every label and seed of a scenario as a point of its own, over all cores or a cluster, resumable."""
