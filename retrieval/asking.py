"""Question or remark? Who asks may be told that nothing is known; a remark only wants recall."""

import re

from shiyi.indexer.fold import fold

_SENTENCE = re.compile(r"[^。！？!?…\n]+[。！？!?…]*")
_ASKS = re.compile(
    r"""[?？] | [吗呢]\W*$ | 什么 | 谁 | 哪 | 几[个岁点年月天次号时] | 多少 | 多久 | 多大 | 怎[么样]
    | 如何 | 为何 | 何时 | 是否 | 有没有 | 是不是 | 请问
    | ^\W*(?:告诉|找|查|列|提醒|回忆|说说|讲讲|搜)
    | ^\W*(?:who|whom|whose|what|when|where|which|why|how|do|does|did|is|are|was|were|can|could
        |will|would|should|has|have|had|tell|find|show|list|remind|recall|search|give)\b""",
    re.VERBOSE,
)
_FIRST_PERSON = re.compile(r"我|咱|俺|\b(?:i|i'm|i've|i'd|i'll|my|me|we|our|us)\b")
_CLOSED = re.compile(r"[。！!…]\s*$|[a-z]{2}\.\s*$|[\u4e00-\u9fff]{6}了\W*$")


def is_remark(text: str) -> bool:
    """Tell whether some sentence of `text` states something instead of asking.

    A statement speaks in the first person or is closed as one, and holds no word that asks. Key
    words without a sentence are no remark. A heuristic over both scripts and English.
    """
    sentences = _SENTENCE.findall(fold(text))
    return any(_states(sentence.strip()) for sentence in sentences)


def _states(sentence: str) -> bool:
    says = _FIRST_PERSON.search(sentence) or _CLOSED.search(sentence)
    return bool(says) and not _ASKS.search(sentence)
