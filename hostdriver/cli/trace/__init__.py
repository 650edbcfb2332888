"""`emuzero trace`: what programs call, a line each."""

__all__: list[str] = []
