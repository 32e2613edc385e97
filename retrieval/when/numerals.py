"""Numbers in digits and in Han numerals."""

import re

_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "○": 0}
_TENS = {"廿": 20, "卅": 30}
_SCALES = {"十": 10, "百": 100, "千": 1000}
_LONGEST = 9

HAN = "零〇○一二三四五六七八九两十廿卅百千"
_APPROXIMATE = re.compile("[一二三四五六七八九两]{2}")


def han_value(text: str) -> int | None:
    """Return the value of 二〇二四, 一百一十二 or 廿三; None when it is no number."""
    if len(text) > _LONGEST:
        return None
    if all(c in _DIGITS for c in text):
        return int("".join(str(_DIGITS[c]) for c in text))
    total, digit, scale = 0, None, 10_000
    for c in text:
        if c in _DIGITS:
            if digit:
                return None
            digit = _DIGITS[c]
        elif c in _TENS:
            if digit is not None or total:
                return None
            total, scale = _TENS[c], 10
        else:
            if _SCALES[c] >= scale or (digit == 0 and c != "十"):
                return None
            scale = _SCALES[c]
            total += (1 if digit is None else digit) * scale
            digit = None
    return total + (digit or 0)


def approximate(text: str) -> tuple[int, int] | None:
    """Return both of two neighbouring numbers, as 两三 or 五六; else None."""
    if _APPROXIMATE.fullmatch(text) is None or _DIGITS[text[1]] - _DIGITS[text[0]] not in {1, 2}:
        return None
    return _DIGITS[text[0]], _DIGITS[text[1]]
