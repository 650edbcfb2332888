"""What the driver does for each function, one module a chapter of the specification."""

__all__: list[str] = []
