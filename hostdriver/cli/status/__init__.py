"""`emuzero status`: what an emulator is doing, for people and for programs."""

__all__: list[str] = []
