"""RoCC's control loop on paper: `./rocelab rocc tune`."""
