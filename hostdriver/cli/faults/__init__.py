"""Commands and options for fault injection."""

__all__: list[str] = []
