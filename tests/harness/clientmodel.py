"""What clients have, as plain Python: the oracle of the client life-cycle machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from firmware.abi.control import ObjectKind
    from firmware.abi.replies import Exported
    from tests.harness.stepped_client import RawClient


@dataclass(eq=False)
class ModelObject:
    number: int
    kind: ObjectKind
    pages: int
    owner: ModelClient
    owned: bool = True
    exports: int = 0

    @property
    def alive(self) -> bool:
        return self.owned or self.exports > 0


@dataclass(eq=False)
class ModelExport:
    exported: Exported
    pages: list[ModelPage]
    owner: ModelClient
    live: bool = True
    opens: int = 0
    gone: bool = False

    def objects(self) -> set[ModelObject]:
        return {page.item for page in self.pages}

    def settle(self) -> None:
        """Let the objects go when nobody can open it and nobody has it open."""
        if not self.live and not self.opens and not self.gone:
            self.gone = True
            for item in self.objects():
                item.exports -= 1


@dataclass(eq=False)
class ModelImport:
    number: int
    export: ModelExport


@dataclass(frozen=True)
class ModelPage:
    """What an address shows: a page of an object, mapped by MAP or by an import."""

    item: ModelObject
    page: int
    via: ModelImport | None = None


@dataclass(eq=False)
class ModelClient:
    raw: RawClient
    vmid: int | None = None
    slots: dict[int, ModelPage] = field(default_factory=dict)
    objects: set[ModelObject] = field(default_factory=set)
    imports: set[ModelImport] = field(default_factory=set)
    exports: set[ModelExport] = field(default_factory=set)
    lost: bool = False
