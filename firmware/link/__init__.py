"""How bytes cross between device and driver: shared memory, bells, descriptors, handshake."""

__all__: list[str] = []
