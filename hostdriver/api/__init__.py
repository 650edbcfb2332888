"""Level Zero in Python: objects and functions by the chapters of the specification."""

__all__: list[str] = []
