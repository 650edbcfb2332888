"""What is generated is what the facts say."""

from scripts.clibrary.facts import Facts
from scripts.clibrary.params import params_of
from scripts.gen_c_library import outputs


def test_every_generated_file_is_fresh() -> None:
    for path, text in outputs(Facts()).items():
        assert path.read_text(encoding="utf-8") == text, path


def test_parameters_are_what_their_declarations_say() -> None:
    facts = Facts()

    def kinds(name: str) -> list[str]:
        return [param.kind.name for param in params_of(facts, facts.functions[name])]

    assert kinds("zeMemAllocDevice") == [
        *("HANDLE", "STRUCTURE", "VALUE", "VALUE", "HANDLE", "VALUE_OUT")
    ]
    assert kinds("zeDeviceGet") == ["HANDLE", "VALUE_INOUT", "HANDLES_OUT"]
    assert kinds("zeMemOpenIpcHandle") == ["HANDLE", "HANDLE", "BLOB", "VALUE", "VALUE_OUT"]
    assert kinds("zeMemGetIpcHandle") == ["HANDLE", "PLACE", "BLOB_OUT"]
    assert kinds("zeContextCreateEx")[2:4] == ["VALUE", "HANDLES"]
