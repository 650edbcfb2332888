"""The pure part of the driver: what is where, what a handle means, and the questions it asks."""

__all__: list[str] = []
