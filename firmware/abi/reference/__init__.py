"""Reference pages for people: prose around tables that are drawn from the declarations."""

from firmware.abi.reference.render import INDEX, pages

__all__ = ["INDEX", "pages"]
