"""Secrets: what has the shape of a password, key or token is not kept, unless a person says so.

The rules are data. Each names literals of which one has to stand in the text before its pattern is
tried, so that ordinary words cost next to nothing. Entropy counts only beside a word that says
what it is: a hash or an id alone is no secret. A rule has found nothing until it has matched; who
wants to hide a secret can. Nothing here repeats what was found.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from shiyi.core.errors import UsageError

_LEAST_ENTROPY = 3.0  # bits a character, of a value beside a word that names it
_LEAST_VALUE = 6  # characters; what is shorter is a word or a number
_SHORT_VALUE = 16  # characters; what is shorter cannot hold as many bits a character
_LEAST_WORD = 20  # letters; an ordinary word is shorter
_LEAST_DIGITS = 4
_DEEPEST = 40


@dataclass(frozen=True, slots=True)
class Rule:
    """One shape. hints: literals, in small letters, of which one stands in every match.

    judged: its group `value` must look like a secret as well.
    """

    name: str
    what: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    judged: bool = False


def _rule(name: str, what: str, hints: str, pattern: str, *, judged: bool = False) -> Rule:
    return Rule(name, what, tuple(hints.split()), re.compile(pattern), judged)


_VALUE = r"""["'`「『“‘]?(?P<value>[!-~]{4,200})"""
RULES: tuple[Rule, ...] = (
    _rule("private-key", "a private key in PEM form", "-----begin",
          r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----"),
    _rule("putty-key", "a PuTTY private key", "putty-user-key-file",
          r"PuTTY-User-Key-File-\d"),
    _rule("age-key", "an age private key", "age-secret-key-1",
          r"AGE-SECRET-KEY-1[0-9A-Z]{50,}"),
    _rule("aws-access-key", "an AWS access key id", "akia asia abia acca",
          r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b"),
    _rule("aws-secret-key", "an AWS secret key", "aws",
          r"(?i)\baws.{0,30}?(?:secret|key)[^A-Za-z0-9/+\n]{1,6}[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])"),
    _rule("azure-storage-key", "an Azure storage key", "accountkey=",
          r"(?i)\bAccountKey=[A-Za-z0-9+/]{80,}={0,2}"),
    _rule("google-api-key", "a Google API key", "aiza", r"\bAIza[\w-]{35}"),
    _rule("google-oauth", "a Google OAuth secret or token", "gocspx- ya29.",
          r"\b(?:GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,})"),
    _rule("alibaba-access-key", "an Alibaba Cloud access key id", "ltai",
          r"\bLTAI[A-Za-z0-9]{12,24}\b"),
    _rule("tencent-secret-id", "a Tencent Cloud secret id", "akid",
          r"\bAKID[A-Za-z0-9]{32}\b"),
    _rule("digitalocean-token", "a DigitalOcean token", "dop_v1_ doo_v1_ dor_v1_",
          r"\bdo[opr]_v1_[0-9a-f]{40,}"),
    _rule("databricks-token", "a Databricks token", "dapi", r"\bdapi[0-9a-f]{32}\b"),
    _rule("github-token", "a GitHub token", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
          r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{40,})"),
    _rule("gitlab-token", "a GitLab token", "glpat- gldt- glrt- glptt- glcbt-",
          r"\bgl(?:pat|dt|rt|ptt|cbt)-[\w-]{20,}"),
    _rule("anthropic-key", "an Anthropic API key", "sk-ant-", r"\bsk-ant-[\w-]{20,}"),
    _rule("openai-key", "an OpenAI API key, or one of that form", "sk-",
          r"\bsk-(?:proj-|svcacct-|admin-|or-v1-)?(?=[\w-]*\d)[A-Za-z0-9_-]{20,}"),
    _rule("huggingface-token", "a Hugging Face token", "hf_", r"\bhf_[A-Za-z0-9]{30,}"),
    _rule("replicate-token", "a Replicate token", "r8_", r"\br8_[A-Za-z0-9]{32,}"),
    _rule("groq-key", "a Groq API key", "gsk_", r"\bgsk_[A-Za-z0-9]{32,}"),
    _rule("xai-key", "an xAI API key", "xai-", r"\bxai-[A-Za-z0-9]{32,}"),
    _rule("perplexity-key", "a Perplexity API key", "pplx-", r"\bpplx-[A-Za-z0-9]{32,}"),
    _rule("slack-token", "a Slack token", "xoxa- xoxb- xoxe- xoxo- xoxp- xoxr- xoxs- xapp-",
          r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9-]{10,}"),
    _rule("slack-webhook", "a Slack webhook", "hooks.slack.com",
          r"hooks\.slack\.com/(?:services|workflows)/[\w/]{20,}"),
    _rule("discord-token", "a Discord bot token or webhook", "discord",
          r"\b(?:[MNO][A-Za-z\d_-]{23,27}\.[\w-]{6}\.[\w-]{27,40}"
          r"|discord(?:app)?\.com/api/webhooks/\d+/[\w-]{40,})"),
    _rule("telegram-token", "a Telegram bot token", ":aa", r"\b\d{8,10}:AA[\w-]{32,34}"),
    _rule("wecom-webhook", "a WeCom or Feishu or DingTalk webhook",
          "webhook/send?key= bot/v2/hook/ robot/send?access_token=",
          r"(?:webhook/send\?key=|bot/v2/hook/|robot/send\?access_token=)[\w-]{20,}"),
    _rule("stripe-key", "a Stripe key", "sk_live_ sk_test_ rk_live_ rk_test_ whsec_",
          r"\b(?:[sr]k_(?:live|test)_[A-Za-z0-9]{16,}|whsec_[A-Za-z0-9+/]{20,})"),
    _rule("square-token", "a Square token", "sq0atp- sq0csp- eaaa",
          r"\b(?:sq0(?:atp|csp)-[\w-]{22,}|EAAA[A-Za-z0-9_-]{56,})"),
    _rule("shopify-token", "a Shopify token", "shpat_ shpca_ shppa_ shpss_",
          r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"),
    _rule("twilio-key", "a Twilio key", "sk", r"\bSK[0-9a-f]{32}\b"),
    _rule("sendgrid-key", "a SendGrid key", "sg.", r"\bSG\.[\w-]{16,24}\.[\w-]{30,50}"),
    _rule("mailgun-key", "a Mailgun key", "key-", r"\bkey-[0-9a-f]{32}\b"),
    _rule("mailchimp-key", "a Mailchimp key", "-us", r"\b[0-9a-f]{32}-us\d{1,2}\b"),
    _rule("npm-token", "an npm token", "npm_", r"\bnpm_[A-Za-z0-9]{30,}"),
    _rule("pypi-token", "a PyPI token", "pypi-ag",
          r"\bpypi-Ag[\w-]{50,}"),
    _rule("docker-token", "a Docker token", "dckr_pat_", r"\bdckr_pat_[\w-]{20,}"),
    _rule("vault-token", "a Vault token", "hvs. hvb.", r"\bhv[sb]\.[\w-]{20,}"),
    _rule("grafana-token", "a Grafana token", "glsa_ glc_", r"\bgl(?:sa|c)_[A-Za-z0-9+/=_]{30,}"),
    _rule("linear-key", "a Linear API key", "lin_api_", r"\blin_api_[A-Za-z0-9]{32,}"),
    _rule("notion-token", "a Notion token", "ntn_ secret_",
          r"\b(?:ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43})\b"),
    _rule("figma-token", "a Figma token", "figd_", r"\bfigd_[\w-]{36,}"),
    _rule("jwt", "a JSON web token", "eyj", r"\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}"),
    _rule("bearer", "a bearer token", "bearer",
          r"(?i)\bbearer[ \t]+(?=[\w.~+/-]*\d)[\w.~+/-]{20,}=*"),
    _rule("basic-auth", "a header with a name and password", "basic",
          r"(?i)\bauthorization[\"']?\s*:\s*[\"']?basic\s+[A-Za-z0-9+/]{8,}={0,2}"),
    _rule("url-password", "an address with a password in it", "://",
          r"\b[A-Za-z][A-Za-z0-9+.-]*://[^\s/:@?#]*:(?!(?:password|pass|\*+|x+)@)[^\s/@]{3,}@[\w\[]"),
    _rule("netrc", "a line of a .netrc file", "machine",
          r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+\S{4,}"),
    _rule("seed-phrase", "the words that restore a wallet",
          "mnemonic seed recovery 助记词 助記詞",
          r"(?i)(?:mnemonic|(?:seed|recovery) (?:phrase|words)|助记词|助記詞)"
          r"[^A-Za-z]{0,12}(?:(?:is|are|was)\b[^A-Za-z]{0,6})?(?:[a-z]{3,8}[ ,]+){11}[a-z]{3,8}\b"),
    _rule("password-is", "a password in a sentence",
          "password passphrase passcode passwd pwd",
          r"(?i)\b(?:password|passphrase|passcode|passwd|pwd)\b(?:[^.!?\n]{0,40}?"
          r"\s(?:is|was)\b\s*:?|[\"']?\s*[:=：])\s*" + _VALUE, judged=True),
    _rule("pin-is", "a PIN in a sentence", "pin",
          r"(?i)\bpin(?: code)?\b[^.!?\n]{0,30}?(?:\s(?:is|was)\b|\s*[:=：])\s*(?P<value>\d{4,8})\b"
          r"(?!\s*[-/年月日.])"),
    _rule("password-zh", "a password in a Chinese sentence",
          "密码 密碼 口令 通行码 通行碼",
          r"(?:密码|密碼|口令|通行码|通行碼)[^，。；！？\n,;]{0,12}?"
          r"(?:是|为|為|设成|設成|改成|叫|[:：=])\s*" + _VALUE + r"(?!\s*[年月日号號位个個])",
          judged=True),
    _rule("named-secret", "a value beside a word that calls it a key, secret or token",
          "key secret token credential 密钥 密鑰 金钥 金鑰 令牌",
          r"(?i)(?:\b(?:(?:api|access|auth|secret|private|client|app|signing|encryption|refresh)"
          r"[ _-]?)+(?:key|secret|token|id_token)|\b(?:secret|token|credential)s?\b|密钥|密鑰"
          r"|金钥|金鑰|令牌)[\"']?\s*(?:is\b|[:=：]|是|为|為)\s*[\"'`「]?(?P<value>[\w.~+/=-]{16,200})",
          judged=True),
)  # fmt: skip


def find_secret(*values: Any) -> Rule | None:
    """Return the first rule that any text in `values` breaks; lists and mappings are looked into.

    A text in a mapping is read as `name: text`, so that a field called password says what it is.
    """
    for text in _texts(values, 0):
        small = text.lower()
        for rule in RULES:
            if any(hint in small for hint in rule.hints) and _breaks(text, rule):
                return rule
    return None


def check_secrets(*values: Any, allow: bool = False) -> None:
    """Raise UsageError, which names the rule and repeats nothing, when there is a secret.

    With `allow`, which only a person may say, everything passes.
    """
    rule = None if allow else find_secret(*values)
    if rule is not None:
        raise UsageError(
            f"It holds what looks like {rule.what} (rule {rule.name}), and secrets are not kept; "
            "nothing was changed. Take it out, or say --allow-secret if you want it here."
        )


def _breaks(text: str, rule: Rule) -> bool:
    found = rule.pattern.finditer(text)
    return any(not rule.judged or _is_secret_like(one["value"]) for one in found)


def _is_secret_like(value: str) -> bool:
    """Tell a made-up value from a word: by digits, by other signs, or by its length."""
    core = value.strip("\"'`.,;:!?()<>[]{}*_")
    if core.startswith(("http://", "https://", "www.", "/", "$", "%")):
        return False
    if core.isdigit():
        return len(core) >= _LEAST_DIGITS
    letters = sum(character.isalpha() for character in core)
    digits = sum(character.isdigit() for character in core)
    if len(core) < _LEAST_VALUE or not letters:
        return False
    if digits or any(not (c.isalnum() or c in "-'_.") for c in core[1:-1]):
        return _entropy(core) >= _LEAST_ENTROPY - (1 if len(core) < _SHORT_VALUE else 0)
    return letters >= _LEAST_WORD and "-" not in core


def _entropy(text: str) -> float:
    """Return the bits that a character of the text carries."""
    counts = Counter(text).values()
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts)


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif depth < _DEEPEST and isinstance(value, Mapping):
        for name, one in value.items():
            if isinstance(one, str):
                yield f"{name}: {one}"
            else:
                yield from _texts(one, depth + 1)
    elif depth < _DEEPEST and isinstance(value, list | tuple):
        for one in value:
            yield from _texts(one, depth + 1)
