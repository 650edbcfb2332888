"""`emuzero demo`: two processes share GPU memory through a device process, told step by step."""

__all__: list[str] = []
