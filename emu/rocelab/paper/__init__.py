"""Papers' experiments, run and laid beside the papers' numbers: `./rocelab paper irn`, `./rocelab paper rocc`."""
