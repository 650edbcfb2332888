"""The chapters of a context: one class each, which `Context` inherits."""

__all__: list[str] = []
