import pytest

from depot.names import BadName, check_name


def test_spaces_around_a_name_do_not_count():
    assert check_name("  Plan.txt ") == "Plan.txt"


@pytest.mark.parametrize("raw", ["", "  ", ".", "..", "a/b", "a\\b", "a\nb", "\ud800", "x" * 256])
def test_a_forbidden_name_is_refused(raw):
    with pytest.raises(BadName):
        check_name(raw)


def test_the_longest_name_is_allowed():
    assert check_name("x" * 255) == "x" * 255
