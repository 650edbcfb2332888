"""Blocking sessions: how a Python program's own process answers the driver's questions."""

__all__: list[str] = []
