"""`emuzero sweep`: a program once for each place where something can fail, with that failing."""

__all__: list[str] = []
