"""Packages that a tree declares, as far as they can be read."""

from __future__ import annotations

import pytest

from esac_ag.patch.dependencies import dependencies_added
from esac_ag.tree import FileTree, RegularFile

DECLARATIONS = {
    "requirements-dev.txt": (
        "-r other.txt\n# none\nFoo_Bar==1.0 \\\n  --hash=x\nbaz @ https://x.invalid/baz.zip\n"
    ),
    "pyproject.toml": (
        '[project]\ndependencies = ["foo-bar>=1"]\n[project.optional-dependencies]\nx = ["baz; os_name>1"]\n'
    ),
    "package.json": '{"dependencies": {"foo-bar": "1"}, "devDependencies": {"@scope/baz": "^2"}}',
    "setup.cfg": "[options]\ninstall_requires =\n    foo.bar\n    baz[extra]>=2\n",
    "setup.py": "import s\ns.setup(install_requires=['foo_bar'], extras_require={'x': ['baz']})\n",
}


@pytest.mark.parametrize("name", DECLARATIONS)
def test_two_new_packages_are_counted(name: str) -> None:
    """Each kind of declaration is read, and a name counts once however it is spelt."""
    assert dependencies_added(FileTree(), FileTree.of_text({name: DECLARATIONS[name]})) == 2


def test_the_same_package_in_two_python_files_counts_once() -> None:
    """Moving a declaration adds nothing."""
    before = FileTree.of_text({"requirements.txt": "foo_bar\n"})
    after = FileTree.of_text({"pyproject.toml": '[project]\ndependencies = ["Foo-Bar"]\n'})
    assert dependencies_added(before, after) == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pyproject.toml", "[project\n"),
        ("pyproject.toml", '[project]\ndependencies = "six"\n'),
        ("package.json", '{"dependencies": []}'),
        ("package.json", "[" * 100_000),
        ("setup.py", "setup(install_requires=read('requirements.txt'))\n"),
        ("setup.cfg", "no section\n"),
        ("requirements.txt", "=== \n"),
    ],
)
def test_what_cannot_be_read_makes_the_count_unknown(name: str, text: str) -> None:
    """Unknown is not zero."""
    assert dependencies_added(FileTree(), FileTree.of_text({name: text})) is None


def test_a_declaration_in_other_bytes_makes_the_count_unknown() -> None:
    """A file that is not UTF-8 is not guessed at."""
    assert dependencies_added(FileTree(), FileTree({b"setup.cfg": RegularFile(b"\xff\xfe")})) is None


def test_installed_packages_declare_nothing() -> None:
    """What lies in `node_modules` is somebody else's declaration."""
    tree = FileTree.of_text({"node_modules/x/package.json": '{"dependencies": {"y": "1"}}'})
    assert dependencies_added(FileTree(), tree) == 0
