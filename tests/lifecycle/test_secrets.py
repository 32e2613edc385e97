"""Secrets are refused by rules that are named, and never repeated; ordinary notes pass."""

import json
import os
import random
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shiyi.core.errors import UsageError
from shiyi.lifecycle.edit import edit
from shiyi.lifecycle.importing import import_path
from shiyi.lifecycle.relate import add_record
from shiyi.lifecycle.remember import remember
from shiyi.lifecycle.secrets import RULES, check_secrets, find_secret
from shiyi.lifecycle.write import Words
from shiyi.store import Store

DATASETS = [Path(part) for part in os.environ.get("SHIYI_DATASETS", "").split(os.pathsep) if part]
LETTERS = string.ascii_letters + string.digits


def made(length: int, alphabet: str = LETTERS, seed: int = 7) -> str:
    """Return random characters with a digit; put together here, so that no scanner sees a key."""
    chosen = random.Random(seed)
    return "".join(chosen.choice(alphabet) for _ in range(length - 1)) + (
        "7" if alphabet is not string.ascii_uppercase else "Q"
    )


HEX = "0123456789abcdef"
FAKES: dict[str, str] = {
    "aws-access-key": "AK" + "IA" + made(16, string.ascii_uppercase),
    "aws-secret-key": "aws_secret_access_key = " + made(40),
    "github-token": "my token gh" + "p_" + made(36),
    "gitlab-token": "gl" + "pat-" + made(20),
    "openai-key": "sk" + "-proj-" + made(48),
    "anthropic-key": "sk" + "-ant-" + "api03-" + made(80),
    "google-api-key": "AI" + "za" + made(35),
    "slack-token": "xo" + "xb-" + made(12, string.digits) + "-" + made(24),
    "slack-webhook": "https://hooks.sl" + "ack.com/services/T0" + made(8) + "/B0" + made(24),
    "stripe-key": "sk" + "_live_" + made(24),
    "private-key": "-----BEGIN RSA PRI" + "VATE KEY-----\nMII" + made(60),
    "jwt": "ey" + "J" + made(20) + ".ey" + "J" + made(40) + "." + made(43),
    "bearer": "Authorization: Bea" + "rer " + made(32),
    "url-password": "postgres://admin:" + made(12) + "@db.example.org/main",
    "npm-token": "np" + "m_" + made(36),
    "huggingface-token": "h" + "f_" + made(34),
    "telegram-token": "123456789" + ":AA" + made(33),
    "sendgrid-key": "S" + "G." + made(22) + "." + made(43),
    "password-is": "The password for the router is " + made(9),
    "password-zh": "银行的密码是" + made(10) + "，别告诉别人",
    "named-secret": "api_key: " + made(32),
}


@pytest.mark.parametrize("name", FAKES)
def test_a_fake_is_caught_by_its_rule(name: str) -> None:
    """Each shape is refused by the rule made for it, and the sentence does not repeat it."""
    rule = find_secret(FAKES[name])

    assert rule is not None
    assert rule.name == name
    with pytest.raises(UsageError) as refused:
        check_secrets({"note": FAKES[name]})
    assert name in str(refused.value)
    assert FAKES[name][-8:] not in str(refused.value)


@pytest.mark.parametrize(
    "text",
    [
        "密碼是" + "Tiger2024!",
        "WiFi 密码：" + "88888888",
        "password: " + "hunter2!",
        "{'pass" + "word': 'Xk29dkq!'}",
        "助記詞：" + "apple banana cherry dog elder frog grape hotel india jelly kite lemon",
        "The PIN is " + "4821",
        "令牌是 " + made(32),
    ],
)
def test_said_in_a_sentence(text: str) -> None:
    """A password beside the word for it is refused in both scripts."""
    assert find_secret(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "我忘了密码，要去银行重置。",
        "密码是 2021 年定下的，早该换了。",
        "The password is too short, they said.",
        "My password was reset by the bank yesterday.",
        "The secret is to whisk it slowly.",
        "这道菜的秘密是火候。",
        "token: a unit of text that a model reads",
        "See https://example.org/a?b=1:2@home for more.",
        "commit 3f786850e387550fdab836ed7e6dc881de23001b fixed it",
        "sk-learn is not what I use; scikit-learn-contrib is",
        "ssh-rsa AAAAB3NzaC1yc2E is a public key",
        "Use user:password@host in the address",
        "The key is under the mat.",
        "My pin is 12/05/2021 on the map",
    ],
)
def test_ordinary_words_pass(text: str) -> None:
    """Words about secrets are no secrets."""
    assert find_secret(text) is None


def notes() -> Iterator[str]:
    for file in sorted(file for place in DATASETS for file in place.glob("*/corpus.jsonl")):
        for line in file.read_text("utf-8").rstrip("\n").split("\n")[:1000]:
            text = json.loads(line).get("text")
            if isinstance(text, str):
                yield text


@pytest.mark.skipif(not DATASETS, reason="SHIYI_DATASETS names no sets")
def test_few_ordinary_notes_are_flagged() -> None:
    """Of 2,000 notes in Chinese and English fewer than 0.5 % are refused."""
    texts = random.Random(1).sample(list(notes()), 2000)

    flagged = [rule.name for text in texts if (rule := find_secret(text))]

    assert len(flagged) < 10, flagged


def test_the_page_lists_every_rule() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "safety.md").read_text("utf-8")
    listed = [line for line in page.splitlines() if line.startswith("| `")]
    assert listed == [f"| `{rule.name}` | {rule.what} |" for rule in RULES]


def test_names_are_told_apart() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(hint == hint.lower() for rule in RULES for hint in rule.hints)


def test_every_write_refuses_and_a_person_may_insist(tmp_path: Path) -> None:
    """Remember, edit and add-record refuse wherever it stands, keep nothing, and can be told to."""
    secret = FAKES["github-token"]
    with Store(tmp_path / "home", create=True) as store:
        kept = remember(store, "me", Words(text="我住在台南。"), {})
        record = kept["record_id"]
        before = store.last_seq
        writes: list[Callable[..., Any]] = [
            lambda **more: remember(store, "me", Words(text=f"記住 {secret}"), {}, **more),
            lambda **more: remember(store, "me", Words(text="x"), {"topics": [secret]}, **more),
            lambda **more: edit(store, "me", record, {"attrs": {"a": {"b": secret}}}, **more),
            lambda **more: edit(store, "me", record, {"gist": "y"}, reason=secret, **more),
            lambda **more: add_record(
                store, "me", {"kind": "fact", "gist": secret}, [], summary_only=True, **more
            ),
        ]
        for write in writes:
            with pytest.raises(UsageError, match="rule github-token"):
                write()
        assert store.last_seq == before
        for write in writes:
            write(allow_secret=True)


def test_an_import_names_the_line_and_goes_on(tmp_path: Path) -> None:
    """The line with a secret is reported by its place and rule; the others go in."""
    lines = [
        {"type": "capture", "id": "a", "text": "今天去爬山。"},
        {"type": "capture", "id": "b", "text": FAKES["openai-key"]},
        {"type": "record", "id": "r", "kind": "fact", "title": "t",
         "gist": FAKES["password-zh"], "quotes": [{"capture": "a"}]},
        {"type": "capture", "id": "c", "text": "下雨了。"},
    ]  # fmt: skip
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    with Store(tmp_path / "home", create=True) as store:
        report = import_path(store, "me", source)

        assert (report.captures, report.records, report.failed) == (2, 0, 2)
        assert [error.split(": ")[0] for error in report.errors] == [f"{source}:2", f"{source}:3"]
        assert "rule openai-key" in report.errors[0]
        assert "rule password-zh" in report.errors[1]

        again = import_path(store, "me", source, allow_secret=True)
        assert (again.captures, again.records, again.failed) == (1, 1, 0)
