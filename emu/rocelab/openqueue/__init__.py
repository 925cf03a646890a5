"""OpenQueue programs: queueing policies of switches, checked, explained, and changed in a topology that is kept."""
