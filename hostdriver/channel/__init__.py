"""Calls of C programs, carried out by a driver in the emulator."""

__all__: list[str] = []
