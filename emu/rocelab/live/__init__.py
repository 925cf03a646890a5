"""The live engine's orchestration: Mininet hosts, a private Open vSwitch, programs on the hosts, one run after the other."""
