"""The same activity said otherwise, and another that sounds alike, in both scripts and English."""

import pytest

import shiyi

SAME = [
    ("去游泳馆游泳", "去游泳館游泳"),
    ("跑步五公里", "跑步五公里。"),
    ("跟小禾下棋", "和小禾下棋"),
    ("做了番茄炒蛋", "做番茄炒蛋"),
    ("給陽台的花澆水", "给阳台的花浇水了"),
    ("读《百年孤独》", "讀《百年孤獨》"),
    ("watered the plants", "Watered the plants."),
    ("played chess with Ann", "playing chess with Ann"),
    ("fixed the bike", "Fixing the bike"),
    ("陪爸爸去醫院複查", "陪爸爸去医院复查"),
]
OTHER = [
    ("去游泳馆游泳", "去健身房健身"),
    ("跑步五公里", "骑车五公里"),
    ("跟小禾下棋", "跟小禾吃饭"),
    ("做了番茄炒蛋", "做了紅燒肉"),
    ("给阳台的花浇水", "给阳台的花换盆"),
    ("读《百年孤独》", "讀《紅樓夢》"),
    ("watered the plants", "sold the plants"),
    ("ran five kilometres", "swam five kilometres"),
    ("played chess with Ann", "had lunch with Ann"),
    ("陪爸爸去醫院複查", "陪妈妈去医院复查"),
]


@pytest.mark.parametrize(("pairs", "one"), [(SAME, True), (OTHER, False)])
def test_activities_are_told_apart(
    memory: shiyi.Memory, pairs: list[tuple[str, str]], one: bool
) -> None:
    """Ten of ten that are one are found again, and none of ten that are two is merged."""
    wrong = []
    for number, (first, second) in enumerate(pairs):
        scope = memory.scope(f"s{number}")
        kept, again = scope.footprint(first), scope.footprint(second)
        if (kept.record_id == again.record_id) != one:
            wrong.append((first, second))
    assert wrong == []
