"""Programs to read, run and copy: one file for each extension, in the public API alone."""

__all__: list[str] = []
