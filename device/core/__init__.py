"""The device as a pure state machine: bytes and `now` in, effects out."""

__all__: list[str] = []
