"""Level Zero tests in one process: devices and drivers side by side, stepped, never asleep."""

__all__: list[str] = []
