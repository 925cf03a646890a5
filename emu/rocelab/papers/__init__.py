"""Papers whose experiments `./rocelab paper NAME` runs: a module for each, with a PAPER (rocelab.paper.harness)."""
