"""The device's only I/O: accept clients, pump rings, watch for death, shut down in order."""

__all__: list[str] = []
