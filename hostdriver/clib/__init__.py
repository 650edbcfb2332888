"""The C library that programs load: no Python inside them."""

__all__: list[str] = []
