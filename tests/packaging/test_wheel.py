"""What is released: the wheel, built from the source distribution, used far from the tree."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

from shiyi.service.dashboard.pages import READERS
from tests.service.visiting import Visitor

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory, root: Path) -> Path:
    """A folder with the sdist and the wheel that was built from it, not from the tree."""
    clone = tmp_path_factory.mktemp("clone") / "shiyi"
    files = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=root, capture_output=True, text=True, check=True,
    ).stdout.split("\0")  # fmt: skip
    for name in filter(None, files):
        if (root / name).is_file():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, clone / name)
    out = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(clone)],
        cwd=out, capture_output=True, check=True,
    )  # fmt: skip
    return out


@pytest.fixture(scope="module")
def installed(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment with the wheel; what it stands on comes from this one."""
    place = tmp_path_factory.mktemp("venv")
    venv.create(place, with_pip=False)
    python = place / "bin" / "python"
    site = subprocess.run(
        [python, "-c", "import site; print(site.getsitepackages()[0])"],
        capture_output=True, text=True, check=True,
    ).stdout.strip()  # fmt: skip
    subprocess.run(
        [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-deps",
         "--no-index", *map(str, dist.glob("*.whl"))],
        cwd=place, check=True,
    )  # fmt: skip
    # After the wheel's own folder, so that nothing of the checkout comes first.
    outer = Path(pytest.__file__).parents[1]
    (Path(site) / "zz-outer.pth").write_text(f"{outer}\n", "utf-8")
    return python


def run(
    python: Path, home: Path, *arguments: str, **given: str
) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "SHIYI_HOME": str(home), "SHIYI_MODEL": "none", **given}
    return subprocess.run(
        [python.parent / "shiyi", *arguments],
        cwd=home.parent, env=environment, capture_output=True, text=True, check=False,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip


def test_wheel_holds_every_module_and_data_file(
    dist: Path, root: Path, packages: dict[str, Path]
) -> None:
    """Every file of every package is in the wheel, and nothing lands outside `shiyi/`."""
    with zipfile.ZipFile(next(dist.glob("*.whl"))) as wheel:
        names = set(wheel.namelist())

    expected = {
        f"{package.replace('.', '/')}/{file.name}"
        for package, folder in packages.items()
        for file in folder.iterdir()
        if file.is_file() and file.suffix not in {".pyc", ".md"}
    }
    shipped = [*(root / "eval").rglob("*.html"), *(root / "eval" / "data" / "sample").iterdir()]
    for kind in ("templates", "static"):
        shipped += (root / "service" / "dashboard" / kind).iterdir()
    shipped += (root / "service" / "skill").iterdir()
    expected |= {f"shiyi/{file.relative_to(root).as_posix()}" for file in shipped}
    assert expected - names == set()
    assert {name.split("/")[0] for name in names} == {
        "shiyi", next(name.split("/")[0] for name in names if ".dist-info/" in name),
    }  # fmt: skip


def test_sdist_holds_tests_sample_and_licences(dist: Path) -> None:
    """Whoever builds from source can test what they built."""
    with tarfile.open(next(dist.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}

    for name in ("tests/packaging/test_wheel.py", "eval/data/sample/captures.jsonl", "NOTICE",
                 "LICENSE", "README.md", "README.zh-CN.md", "CHANGELOG.md"):  # fmt: skip
        assert name in names


def test_installed_wheel_measures_itself(installed: Path, tmp_path: Path) -> None:
    """The sample set and the page for reports come with the wheel."""
    done = run(
        installed, tmp_path / "home", "eval", "run", "sample", "--most", "2", "--view", "main",
        "--system", "bm25,grep", "--out", str(tmp_path / "out"),
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")
    assert "sample · main: 2 queries" in done.stdout
    assert (tmp_path / "out" / "report.html").stat().st_size > 0
    assert not (tmp_path / "home").exists()


def test_installed_wheel_keeps_and_finds(installed: Path, tmp_path: Path) -> None:
    """Far from the tree, the command helps, keeps words and finds them."""
    home = tmp_path / "home"

    assert run(installed, home, "--help").returncode == 0
    assert run(installed, home, "remember", "我對花生過敏").returncode == 0
    found = run(installed, home, "search", "花生")
    where = subprocess.run(
        [installed, "-c", "import shiyi.store; print(shiyi.store.__file__)"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert found.returncode == 0
    assert "我對花生過敏" in found.stdout
    assert str(installed.parents[1]) in where.stdout


def test_installed_wheel_tells_an_agent(installed: Path, tmp_path: Path) -> None:
    """The entry for a client names this very program, and the skill comes with the wheel."""
    home = tmp_path / "home"

    entry = run(installed, home, "mcp", "install", "--client", "claude-code", "--print")
    skill = run(installed, home, "mcp", "skill")

    assert (entry.returncode, skill.returncode) == (0, 0)
    assert str(installed.parent / "shiyi") in entry.stdout
    assert "memory_search" in skill.stdout
    assert not home.exists()


def test_installed_wheel_serves_a_dashboard(installed: Path, tmp_path: Path) -> None:
    """Its daemon starts far from the tree and has every page, the style and both languages."""
    home = tmp_path / "home"
    environment = {"SHIYI_DAEMON": "on", "SHIYI_DAEMON_IDLE": "60"}
    assert run(installed, home, "init").returncode == 0
    try:
        told = run(installed, home, "dashboard", "--no-browser", "--json", **environment)
        url = json.loads(told.stdout)["url"]
        visitor = Visitor(url)
        visitor.open(url)
        pages = [visitor.ask(f"/dashboard/{name}", Accept_Language="zh-TW") for name in READERS]
        style = re.search(r'href="(/dashboard/static/style.css[^"]*)"', pages[0].body.decode())
        assert style is not None
        styled = visitor.ask(style.group(1))
    finally:
        run(installed, home, "daemon", "stop", **environment)

    assert {one.status for one in [*pages, styled]} == {200}
    assert "沒有選用語意模型" in pages[0].body.decode()
