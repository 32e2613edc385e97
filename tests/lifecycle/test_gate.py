"""What the gate keeps, what it lets pass, and the form of its rules."""

import pytest

from shiyi.lifecycle.gate import judge


@pytest.mark.parametrize(
    ("text", "signal"),
    [
        ("記住我不吃牛肉", "explicit"),
        ("Lily 是我表妹", "clear"),
        ("昨天去了趟医院", "weak"),
        ("我想知道光速是多少", "none"),
    ],
)
def test_a_signal_has_its_strength(text: str, signal: str) -> None:
    verdict = judge(text)

    assert verdict.signal == signal
    assert (verdict.tier == "skip") == (signal == "none") == (verdict.reasons == ())
