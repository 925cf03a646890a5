"""The virtual-time engine as Python sees it."""
