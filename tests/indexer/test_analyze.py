"""Text to terms: words, pairs, identifiers, both scripts, any writing, linear time."""

import random
import time
from collections import Counter

import opencc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiyi.indexer.analyze import (
    analyzer_fingerprint,
    han_share,
    identifiers,
    locate,
    locate_in_original,
    term_key,
    terms,
)
from shiyi.indexer.fold import fold, fold_with_spans

S2T = opencc.OpenCC("s2t")
MIXED = st.lists(
    st.sampled_from(
        [
            "今天", "下雨", "王小明", "咖啡", "計程車", "coffee", "walking", "RTX4090", "v1.2.3",
            "SCP-820", " ",
            "，", "。", "ann@x.com", "0912-345-678", "2024/3/5", "1,200", "𠮷野家", "ｶﾞｽ",
            "한국어", "Привет",
            "☕", "👨‍👩‍👧", "e\u0301", "\u200b", "ß", "\x00", "(02) 2345-6789", "3.14", "tel:",
            "々", "茶",
        ]
    ),
    max_size=10,
).map("".join)  # fmt: skip


@given(MIXED, MIXED, MIXED)
def test_a_document_has_every_term_of_a_line_in_it(before: str, line: str, after: str) -> None:
    """Queries and documents go through one analyzer: a line that is quoted is found whole."""
    assert set(terms(line)) <= set(terms(f"{before}\n{line}\n{after}"))


@given(st.text(alphabet="今天我们去爬山头发现电话国语言图书馆", max_size=15))
def test_either_script_gives_the_same_own_terms(simplified: str) -> None:
    """A Traditional text has every term of its Simplified spelling."""
    assert not Counter(terms(simplified)) - Counter(terms(S2T.convert(simplified)))


@pytest.mark.parametrize("name", ["王曉嶺", "拾忆", "陳㐂壽", "龘靐", "佐々木", "𠮷野家"])
def test_a_name_that_no_dictionary_knows_is_found(name: str) -> None:
    """Neighbouring characters are terms, so a strange name shares terms with its sentences."""
    pairs = {fold(name)[i : i + 2] for i in range(len(fold(name)) - 1)}

    assert pairs <= set(terms(f"我昨天见到{name}了。"))
    assert pairs <= set(terms(name))


SPELLINGS = [
    ("0912345678", ["0912345678", "0912-345-678", "0912 345 678", "09123 45678",
    "０９１２３４５６７８",
                    "0912.345.678", "+886 912 345 678", "+886-912-345-678", "+886912345678",
                    "+886 912-345678", "(+886) 912 345 678", "0912 345 678.", "0912345678。",
                    "tel:0912-345-678", "电话：０９１２－３４５－６７８",
                    "call 0912 345 678, please"]),
    ("0223456789", ["(02) 2345-6789", "(02)23456789", "02-2345-6789", "02 2345 6789",
    "（02）2345-6789",
                    "+886-2-2345-6789", "+886 2 2345 6789", "0223456789"]),
    ("13800001234", ["138 0000 1234", "138-0000-1234", "13800001234", "+86 138 0000 1234",
                     "138 00001234"]),
    ("01062345678", ["010-62345678", "010-6234-5678", "+86 10 6234 5678", "(010) 62345678"]),
    ("scp820", ["SCP-820", "scp-820", "SCP_820", "ＳＣＰ－８２０", "id:SCP-820", "SCP820"]),
    ("v1.2.3", ["v1.2.3", "V1.2.3", "版本v1.2.3。"]),
    ("01m8q2vgwcxfbg0j", ["01M8Q2VGWCXFBG0J", "見01M8Q2VGWCXFBG0J。"]),
    ("rtx4090", ["RTX4090", "rtx-4090", "买了RTX4090显卡", "gpu/RTX4090"]),
    ("ann.lee@x.co.uk", ["ann.lee@x.co.uk", "Ann.Lee@X.co.uk", "mailto:ann.lee@x.co.uk",
    "邮箱ann.lee@x.co.uk。",
                         "<ann.lee@x.co.uk>", "email:ann.lee@x.co.uk, thanks",
                         "--ann.lee@x.co.uk."]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("form", "spelling"), [(form, spelling) for form, all_ in SPELLINGS for spelling in all_]
)
def test_an_identifier_has_one_form_in_every_spelling(form: str, spelling: str) -> None:
    """Phone numbers, codes, versions and addresses match however they are written."""
    assert identifiers(spelling) == {form}
    assert form in terms(spelling)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("SCP-820", {"scp", "820"}), ("RTX4090", {"rtx", "4090"}), ("v1.2.3", {"1", "2", "3"}),
        ("0912-345-678", {"0912", "345", "678"}), ("wang.ming@gmail.com", {"wang", "ming",
        "gmail"}),
        ("long-term", {"long", "term"}), ("10:30", {"10", "30"}),
    ],
)  # fmt: skip
def test_an_identifier_is_found_by_its_parts(text: str, parts: set[str]) -> None:
    """Somebody who remembers a part of a code finds it."""
    assert parts <= set(terms(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10k", {"10k", "10", "k"}),
        ("跑了10K公里", {"10k", "10", "k"}),
        ("the 20th", {"20th", "20", "th"}),
        ("4090Ti's", {"4090ti", "4090", "ti"}),
        ("90's", {"90"}),
    ],
)
def test_a_number_with_its_unit_is_whole_and_in_parts(text: str, expected: set[str]) -> None:
    """Nothing else is lost by it, and it is no identifier, which would stand for itself."""
    assert {term for term in terms(text) if term.isascii()} == expected
    assert identifiers(text) == set()


def test_a_date_is_one_date_however_it_is_written() -> None:
    """2024-03-05, 2024/3/5 and 2024.3.5 have the same terms, which 2024年3月5日 shares."""
    forms = [
        Counter(terms(text))
        for text in ("2024-03-05", "2024/3/5", "2024.3.5", "２０２４－０３－０５")
    ]

    assert all(form == forms[0] for form in forms)
    assert {"2024", "3", "5"} <= set(terms("2024年3月5日")) & set(forms[0])
    assert "20240305" in forms[0]
    assert not identifiers("2024-03-05")


def test_a_price_is_the_number_it_names() -> None:
    """Separators of thousands do not count; a list of years is not a phone number."""
    assert terms("1,200") == terms("1200") == ["1200"]
    assert Counter(terms("1,200.50")) == Counter(terms("1200.50"))
    assert terms("3,000,000") == ["3000000"]
    assert terms("1,2,3") == ["1", "2", "3"]
    assert not identifiers("2020 2021 2022 2023")


@pytest.mark.parametrize(
    ("taiwan", "mainland"),
    [
        ("我坐計程車去", "出租车"),
        ("軟體壞了", "软件"),
        ("我的滑鼠壞了", "鼠标"),
        ("記憶體不夠", "内存"),
    ],
)
def test_taiwan_wording_also_gives_the_mainland_word(taiwan: str, mainland: str) -> None:
    """The mainland word stands beside the text's own terms, never in their place."""
    found = terms(taiwan)

    assert mainland in found
    assert not Counter(term.text for term in locate(fold(taiwan))) - Counter(found)


@pytest.mark.parametrize(
    "text", ["建立核心程序", "显著的什么", "出租车", "内核创建", "鼠标软件", "hello"]
)
def test_simplified_text_is_never_reworded(text: str) -> None:
    """Words that are right in Simplified text get no others beside them."""
    assert Counter(terms(text)) == Counter(term.text for term in locate(fold(text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("☕", {"☕"}), ("👍🏽", {"👍", "🏽"}), ("❤️", {"❤"}), ("𠮷", {"𠮷"}),
        ("コーヒー", {"コー", "ヒー"}),
        ("ｺｰﾋｰ", {"コー", "ヒー"}), ("커피", {"커피"}), ("커", {"커"}), ("Привет", {"привет"}),
        ("naïve", {"naiv"}), ("naïf", {"naif"}), ("x\u0304y", {"xy"}), ("〇", {"〇"}),
        ("茶", {"茶"}),
    ],
)  # fmt: skip
def test_every_writing_has_terms(text: str, expected: set[str]) -> None:
    """Emoji, rare Han, kana, hangul, Cyrillic and accents can all be looked for."""
    assert expected <= set(terms(text))


@given(st.text())
def test_no_text_is_refused(text: str) -> None:
    """Any text has terms or none, each a short text; analysing never fails."""
    assert all(0 < len(term) <= 64 for term in terms(text))


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "\x00",
        "后\x00来",
        "\u0301",
        "\u0301" * 500,
        "\ud800",
        "后\udc00",
        "！？…",
        "\u200b",
    ],
)
def test_odd_texts_are_no_trouble(text: str) -> None:
    """NUL, lone marks and half a surrogate pair break nothing."""
    assert set(terms(text)) <= {"后", "来"}


def test_ten_thousand_equal_characters_are_quick() -> None:
    """An unbroken run costs what its length costs."""
    begun = time.process_time()
    found = terms("后" * 10_000)

    assert time.process_time() - begun < 3
    assert found.count("后后") >= 9_990


@pytest.mark.parametrize(
    "unit",
    ["a", ".", "-", "1", "1-", "1--", "1234 ", "a@", "a:", "1.2@-", "(02) ", "+1", "1,234",
     "a@a.a", "a'", "1 ", "a1", "a.", "_", "\u0301"],
)  # fmt: skip
def test_no_text_takes_more_than_linear_time(unit: str) -> None:
    """Ten times the text is not a hundred times the work: a megabyte takes seconds at most."""
    text = (unit * 1_000_000)[:300_000]
    begun = time.process_time()
    terms(f"{text}@")

    assert time.process_time() - begun < 3


def test_a_megabyte_of_noise_takes_seconds() -> None:
    """Digits, dashes, dots, brackets and signs in any order have no bad case."""
    noise = random.Random(0).choices("0123456789-.@ ()+/:#,_a", k=1_000_000)
    begun = time.process_time()
    terms("".join(noise))

    assert time.process_time() - begun < 6


@given(MIXED, MIXED)
def test_places_are_places_in_the_original(text: str, query: str) -> None:
    """Each located span lies in the original, and what stands there has the term."""
    folded = fold_with_spans(text)
    wanted = {term.text for term in locate(folded.text)} & set(terms(query))
    places = locate_in_original(folded, wanted)

    assert bool(places) == bool(wanted)
    for start, end in places:
        assert 0 <= start < end <= len(text)
        inside = fold(text[start:end])
        assert any(
            inside == folded.text[term.start : term.end] or term.text in inside
            for term in locate(folded.text)
            if term.text in wanted
        )


@given(MIXED, MIXED)
def test_located_terms_are_all_that_there_are(text: str, query: str) -> None:
    """The quick way to places finds whatever the slow way finds, and single characters last."""
    folded = fold_with_spans(text)
    cut = list(locate(folded.text))
    wanted = {term.text for term in cut} & set(terms(query))
    places = {
        (folded.starts[term.start], folded.ends[term.end - 1]): len(term.text)
        for term in cut
        if term.text in wanted
    }

    located = set(locate_in_original(folded, wanted))

    assert located >= {place for place, length in places.items() if length > 1}
    assert bool(located) == bool(places)
    assert all(text[start:end] for start, end in located)


def test_the_share_of_han() -> None:
    """Han characters are counted against Latin words."""
    assert han_share("今天 walk home") == 2 / 4
    assert (han_share("hello"), han_share("今天"), han_share("123 ☕")) == (0.0, 1.0, 0.0)


def test_names_of_terms_are_stable() -> None:
    """The number of a term is part of the file format, and the analyzer has one name."""
    assert term_key("rtx4090") == term_key("rtx" + "4090") != term_key("rtx4091")
    assert len(analyzer_fingerprint()) == 16
