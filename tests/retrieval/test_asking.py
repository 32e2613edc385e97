"""Questions may be answered with nothing; remarks only want recall."""

import pytest

from shiyi.retrieval.asking import is_remark

REMARKS = (
    "我還是覺得有點害怕，如果我做錯了事情怎麼辦？我不想失去他們。",
    "今天又下雨了，衣服都没干。",
    "I finally finished the thesis draft last night.",
    "But what if he doesn't cherish it? I don't want to lose this toy.",
    "好喜歡奧特曼玩具！",
    "陽台那盆醜傢伙冒新芽了",
)
QUESTIONS = (
    "量子色動力學的漸近自由",
    "邬昱霖的生日",
    "她現在住哪裡？",
    "我上次去里斯本是哪一年",
    "告訴我阿嬤的電話",
    "What is my blood type?",
    "where do I live",
    "tell me about my trip to Lisbon",
    "花生 allergy",
    "他後來去哪裡工作了",
    "搬家了",
    "0912-345-678",
    "",
)


@pytest.mark.parametrize("text", REMARKS)
def test_a_statement_is_a_remark(text: str) -> None:
    """A sentence that states something asks for recall, in both scripts and English."""
    assert is_remark(text)


@pytest.mark.parametrize("text", QUESTIONS)
def test_questions_and_key_words_are_no_remarks(text: str) -> None:
    """Whoever asks, or gives key words, may be told that nothing is known."""
    assert not is_remark(text)
