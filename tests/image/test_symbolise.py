"""Addresses become names in traces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware.image import Symbol, SymbolKind, SymbolTable

FUNCTION, OBJECT, LABEL = SymbolKind
TABLE = SymbolTable(
    (
        Symbol(0x8000_2000, 0, "tail", LABEL),
        Symbol(0x8000_0000, 0x40, "reset", FUNCTION),
        Symbol(0x8000_0040, 0x10, "idle", FUNCTION),
        Symbol(0x8000_0000, 0x80, "text_start", OBJECT),
        Symbol(0x8000_1000, 0, "table", LABEL),
        Symbol(0x8000_1100, 8, "word", OBJECT),
        Symbol(0x8000_1200, 8, "b", OBJECT),
        Symbol(0x8000_1200, 16, "a", OBJECT),
    ),
    limit=0x8000_2100,
)


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (0x8000_0000, "reset"),
        (0x8000_0010, "reset+0x10"),
        (0x8000_003F, "reset+0x3f"),
        (0x8000_0040, "idle"),
        (0x8000_004F, "idle+0xf"),
        (0x8000_0050, "0x8000_0050"),
        (0x8000_10FF, "table+0xff"),
        (0x8000_1107, "word+0x7"),
        (0x8000_1108, "0x8000_1108"),
        (0x8000_1208, "a+0x8"),
        (0x8000_20FF, "tail+0xff"),
        (0x8000_2100, "0x8000_2100"),
        (0x7FFF_FFFF, "0x7fff_ffff"),
        (0, "0x0"),
        (1 << 64, "0x1_0000_0000_0000_0000"),
    ],
)
def test_addresses_have_names(address: int, text: str) -> None:
    assert TABLE.symbolise(address) == text


def test_names_have_symbols() -> None:
    found = TABLE.named("word")

    assert found is not None
    assert found.address == 0x8000_1100
    assert TABLE.named("nothing") is None


def test_functions_are_in_order() -> None:
    assert [function.name for function in TABLE.functions()] == ["reset", "idle"]


def test_an_empty_table_knows_no_name() -> None:
    assert SymbolTable((), limit=0).symbolise(0x10) == "0x10"


SYMBOLS = st.lists(
    st.builds(
        Symbol,
        st.integers(0, 40),
        st.integers(1, 10),
        st.text("abc", min_size=1, max_size=3),
        st.sampled_from(SymbolKind),
    ),
    max_size=12,
)


@given(SYMBOLS, st.integers(0, 60))
def test_the_nearest_symbol_below_names_an_address_if_it_reaches_it(
    symbols: list[Symbol], address: int
) -> None:
    found = SymbolTable(tuple(symbols), limit=64).find(address)

    def preference(symbol: Symbol) -> tuple[int, bool, int, str, str]:
        is_function = symbol.kind is FUNCTION
        return symbol.address, is_function, symbol.size, symbol.name, symbol.kind.value

    below = [symbol for symbol in symbols if symbol.address <= address]
    best = max(below, key=preference, default=None)
    reaches = best is not None and address < best.address + best.size
    assert found == (best if reaches else None)
