"""`emuzero doctor`: what stands in the way of running programs, and what helps."""

__all__: list[str] = []
