"""The driver: Level Zero for programs, on top of the contract in `firmware`, never of `device`."""

__all__: list[str] = []
