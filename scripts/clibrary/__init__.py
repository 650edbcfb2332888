"""Generator of the C library's tables from the facts of the interface."""
