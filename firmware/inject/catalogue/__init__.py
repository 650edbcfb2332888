"""All points there are, one module for the layers that belong together."""

from firmware.inject.catalogue.every import matching, points

__all__ = ["matching", "points"]
