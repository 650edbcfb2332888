"""What the page of conformance accepts and what it refuses, on small made-up promises."""

import textwrap
from pathlib import Path

import pytest

from scripts import gen_conformance

DATA = """
    [documents]
    book = "The book"
    [groups]
    BAKE = "bread"
    [codes]
    NP = "INVALID_NULL_POINTER"
    [reasons]
    oven = "until the oven is hot"

    [[sentence]]
    id = "BAKE-01"
    words = "Dough becomes bread."
    where = ["book: page 7"]

    [[sentence]]
    id = "BAKE-02"
    words = "Crust | crumb."
    where = ["book: page 8"]
    open = "oven"

    [[decision]]
    id = "C1"
    question = "How long?"
    spec = "an hour"
    intel = "half an hour"

    [[function]]
    name = "zeKnead"
    errors = [{ code = "NP", when = "there is no dough" }]

    [[case]]
    id = "K01"
    words = "Bread does not burn."
"""
TESTS = """\
    import pytest

    @pytest.mark.sentence("BAKE-01")
    def test_bread(): ...

    @pytest.mark.decision("C1", profile="both")
    @pytest.mark.error("Knead", "NP")
    class TestOven:
        @pytest.mark.case("K01")
        async def test_smoke(self): ...
"""


class Bakery:
    """A made-up repository."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "docs" / "promises.toml"
        self.page = folder / "docs" / "promises.md"
        self.tests = folder / "tests"
        self.test = self.tests / "inner" / "test_baking.py"
        for path in (self.data, self.test):
            path.parent.mkdir(parents=True)
        self.write(DATA, TESTS)

    def write(self, data: str, tests: str) -> None:
        self.data.write_text(textwrap.dedent(data))
        self.test.write_text(textwrap.dedent(tests))

    def run(self, *arguments: str) -> int:
        places = {"--data": self.data, "--page": self.page, "--tests": self.tests}
        pairs = [str(part) for place in places.items() for part in place]
        return gen_conformance.main([*pairs, *arguments])


@pytest.fixture(name="bakery")
def make_bakery(tmp_path: Path) -> Bakery:
    return Bakery(tmp_path)


def test_page_of_this_repository_is_fresh_and_true() -> None:
    assert gen_conformance.main(["--check"]) == 0


def test_every_behaviour_stands_beside_its_tests(bakery: Bakery) -> None:
    assert bakery.run() == 0

    text = bakery.page.read_text()
    file = "(../tests/inner/test_baking.py)"
    oven = f"[TestOven]{file}"
    for row in (
        f"| BAKE-01 | Dough becomes bread. | book: page 7 | [test_bread]{file} |",
        "| BAKE-02 | Crust \\| crumb. | book: page 8 | *open: until the oven is hot* |",
        f"| C1 | How long? | an hour | half an hour | `spec`: {oven}<br>`intel`: {oven} |",
        f"| NP | there is no dough | INVALID_NULL_POINTER | {oven} |",
        f"| K01 | Bread does not burn. | [TestOven.test_smoke]{file} |",
        "| until the oven is hot | 1 |",
        "| Sentences of the specification | 2 | 1 | 1 |",
        "| book | The book |",
    ):
        assert f"\n{row}\n" in text


def test_stale_page_is_told_and_written_anew(
    bakery: Bakery, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bakery.run("--check") == 1
    assert not bakery.page.exists()
    assert bakery.run() == 0
    assert bakery.run("--check") == 0
    bakery.write(DATA, TESTS.replace("test_bread", "test_rolls"))
    capsys.readouterr()

    assert bakery.run("--check") == 1

    assert capsys.readouterr().err.startswith(f"stale: {bakery.page}")
    assert "test_rolls" not in bakery.page.read_text()
    assert bakery.run() == 0
    assert "test_rolls" in bakery.page.read_text()


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('sentence("BAKE-01")', 'sentence("BAKE-03")', "unknown sentence 'BAKE-03'"),
        ('sentence("BAKE-01")', 'sentence("K01")', "unknown sentence 'K01'"),
        ('sentence("BAKE-01")', 'sentence("BAKE-03")', "BAKE-01: no test proves it"),
        ('sentence("BAKE-01")', 'sentence("BAKE-01", "BAKE-02")', "BAKE-02: open for 'oven'"),
        ('"Knead", "NP"', '"Knead", "NH"', "unknown error 'Knead-NH'"),
        ('profile="both"', 'profile="spec"', "C1 (intel): no test proves it"),
        ('profile="both"', 'profile="intel"', "C1 (spec): no test proves it"),
        (', profile="both"', "", "C1 (intel): no test proves it"),
        ('profile="both"', 'profile="all"', "6: profile is spec or intel or both"),
        ('case("K01")', 'case("K01", profile="spec")', "9: case takes no profile"),
        ('case("K01")', "case(NAME)", "9: case takes one id or more, as literal texts"),
        ('case("K01")', "case()", "9: case takes one id or more, as literal texts"),
        ('case("K01")', "case", "9: the marker is at no test"),
        ('case("K01")', 'case("K01", "K01")', "TestOven.test_smoke: case 'K01' stands twice"),
        ('error("Knead", "NP")', 'error("Knead")', "error takes a function and one code or more"),
        ("test_bread", "bake_bread", "3: the marker is at no test"),
        ("TestOven", "Oven", "6: the marker is at no test"),
        ("def test_bread", "@pytest.mark.skip\ndef test_bread", "it is marked skip"),
        ("def test_bread", "@pytest.mark.xfail()\ndef test_bread", "it is marked xfail"),
        ("import pytest", "import pytest\nX = pytest.mark.case('K01')", "2: the marker is at no"),
    ],
)
def test_marker_that_proves_nothing_is_refused(
    bakery: Bakery, capsys: pytest.CaptureFixture[str], before: str, after: str, told: str
) -> None:
    assert bakery.run() == 0
    page = bakery.page.read_text()
    assert before in TESTS
    bakery.write(DATA, textwrap.dedent(TESTS).replace(before, after))
    capsys.readouterr()

    for arguments in (("--check",), ()):
        assert bakery.run(*arguments) == 1
        assert told in capsys.readouterr().err
    assert bakery.page.read_text() == page


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ('"BAKE-02"', '"BAKE-01"', "BAKE-01: stands 2 times"),
        ('id = "K01"', 'id = "C1"', "C1: stands 2 times"),
        ('open = "oven"', "", "BAKE-02: no test proves it"),
        ('open = "oven"', "", "reason 'oven': nothing is open for it"),
        ('open = "oven"', 'open = "cellar"', "BAKE-02: open for the unknown reason 'cellar'"),
        ('"book: page 8"', '"Book: page 8"', "names no document"),
        ("BAKE-02", "BOIL-02", "group 'BOIL' is not in the data"),
        ('"Dough becomes bread."', '" "', "BAKE-01: has an empty field"),
        ('code = "NP"', 'code = "NQ"', "'NQ' is not in the data's codes"),
        ('"half an hour"', '""\nopen_intel = "oven"', "C1: open_intel, but both profiles"),
        ("words =", "word =", "the data cannot be read: Object contains unknown field `word`"),
        ("[groups]", "[groups", "the data cannot be read"),
        ('where = ["book: page 7"]', "", "missing required field `where`"),
    ],
)
def test_data_that_contradict_themselves_are_refused(
    bakery: Bakery, capsys: pytest.CaptureFixture[str], before: str, after: str, told: str
) -> None:
    assert before in DATA
    bakery.write(DATA.replace(before, after, 1), TESTS)

    assert bakery.run() == 1

    assert told in capsys.readouterr().err
    assert not bakery.page.exists()


def test_missing_data_are_told(bakery: Bakery, capsys: pytest.CaptureFixture[str]) -> None:
    bakery.data.unlink()

    assert bakery.run() == 1
    assert "promises.toml" in capsys.readouterr().err


def test_whole_file_may_prove_something(bakery: Bakery) -> None:
    bakery.write(DATA, textwrap.dedent(TESTS).replace('@pytest.mark.sentence("BAKE-01")\n', ""))
    (bakery.tests / "test_more.py").write_text(
        'pytestmark = [pytest.mark.slow, pytest.mark.sentence("BAKE-01")]\n'
    )

    assert bakery.run() == 0
    assert "[test_more.py](../tests/test_more.py)" in bakery.page.read_text()


def test_one_case_of_a_test_may_prove_something(bakery: Bakery) -> None:
    marked = 'parametrize("x", [1, pytest.param(2, marks=pytest.mark.sentence("BAKE-01"))])'
    bakery.write(DATA, textwrap.dedent(TESTS).replace('sentence("BAKE-01")', marked))

    assert bakery.run() == 0
    assert "[test_bread]" in bakery.page.read_text()


def test_files_that_are_not_collected_prove_nothing(
    bakery: Bakery, capsys: pytest.CaptureFixture[str]
) -> None:
    bakery.test.rename(bakery.test.with_name("baking.py"))

    assert bakery.run() == 1
    assert "baking.py:3: the marker is at no test" in capsys.readouterr().err


def test_summary_counts_every_table(bakery: Bakery, capsys: pytest.CaptureFixture[str]) -> None:
    bakery.run()

    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [line[-6:] for line in lines[:4]] == [
        ["2", "rows", "1", "proved", "1", "open"],
        *[["1", "rows", "1", "proved", "0", "open"]] * 3,
    ]


def test_page_without_open_rows_tells_of_none(bakery: Bakery) -> None:
    bakery.write(
        DATA.replace('open = "oven"', "").replace('oven = "until the oven is hot"', ""),
        TESTS.replace('"BAKE-01"', '"BAKE-01", "BAKE-02"'),
    )

    assert bakery.run() == 0
    assert "wait for" not in bakery.page.read_text()
