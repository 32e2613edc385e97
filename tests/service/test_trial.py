"""What a trial keeps for the next one."""

import json
from pathlib import Path

import pytest

from shiyi.core.settings import Settings
from shiyi.service.session import Session
from shiyi.service.trial import Trial, open_trial
from tests.retrieval.test_rebuild import calibrated

HASHING = Settings(model="hashing")


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of its own, and room for homes."""
    monkeypatch.setenv("SHIYI_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(Session, "load_encoder", lambda _: calibrated())


def embed(trial: Trial, tmp_path: Path, texts: list[str]) -> int:
    """Have a trial embed texts; return how many it had not kept from before."""
    file = tmp_path / "texts.jsonl"
    file.write_text("\n".join(json.dumps({"text": text}) for text in texts), "utf-8")
    trial.take_in(file, "me")
    return trial.index(["me"])


def test_trials_at_once_do_not_mix_what_they_keep(tmp_path: Path) -> None:
    """Few long texts take more room than many short ones; the larger number stays, whole."""
    short, long = [f"{n} 天" for n in range(10)], [f"第 {n} 頁 。 " * 60 for n in range(2)]
    with open_trial(HASHING) as many, open_trial(HASHING) as few:
        fresh = embed(many, tmp_path, short), embed(few, tmp_path, long)
    assert fresh[0] > fresh[1] > 0

    with open_trial(HASHING) as later:
        assert embed(later, tmp_path, short) == 0
