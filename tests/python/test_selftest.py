"""emu/rocelab/selftest: what counts as passed and failed, and that nothing that fails is lost on the way to the last line."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from rocelab import paths, selftest
from rocelab.errors import RocelabError
from rocelab.selftest import fuzz, junit, ovs, style, suites
from rocelab.selftest.outcome import Failed, Passed, Result, Skipped, StepReport
from rocelab.setup_progress import Step


@pytest.fixture
def step() -> Step:
    return Step("test", io.StringIO())


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, folder in (("ROOT", "."), ("LOGS", "logs"), ("FUZZ", "build/fuzz"), ("DEV", "build/dev")):
        monkeypatch.setattr(paths, name, tmp_path / folder)
    return tmp_path


def kinds(results: list[Result]) -> list[str]:
    return [type(result.verdict).__name__ for result in results]


def test_the_last_line_counts_all_steps(capsys: pytest.CaptureFixture[str]) -> None:
    steps = [
        StepReport("unit", (Result("a", Passed()), Result("b", Failed("1 != 2\n  at b.cc:3")))),
        StepReport("live", (Result("c", Skipped("needs root")), Result("d", Passed()))),
    ]
    assert selftest.report(steps) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "2 passed, 1 failed"
    assert "FAILED unit: b: 1 != 2" in lines and "skipped c: needs root" in lines
    assert selftest.report([StepReport("unit", (Result("a", Passed()),))]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "1 passed, 0 failed"


def test_steps_that_need_a_failed_build_fail_and_the_others_run(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(step: Step) -> list[Result]:
        raise RocelabError("build failed")

    ran: list[str] = []

    def run(step: Step) -> list[Result]:
        ran.append(step.title)
        return [Result(step.title, Passed())]

    parts = [
        selftest.Part("build dev", broken),
        selftest.Part("unit", run, ("build dev",)),
        selftest.Part("style", run),
    ]
    reports = selftest.run_parts(parts)
    assert ran == ["style"]
    assert [kinds(list(report.results)) for report in reports] == [["Failed"], ["Failed"], ["Passed"]]


def test_what_the_time_will_not_do_for_is_skipped_and_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On a machine that takes thrice as long: after 36 of 85 minutes there is time for 6 minutes, which take 18, and not for 13."""
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])

    def part(title: str, minutes: float, *needs: str) -> selftest.Part:
        def run(step: Step) -> list[Result]:
            assert step.ends == 85 * 60
            now[0] += 3 * 60 * minutes
            return [Result(step.title, Passed())]

        return selftest.Part(title, run, needs, minutes)

    parts = [
        part("build", 12),
        part("python", 6, "build"),
        part("live", 13, "build"),
        part("build fuzzers", 12),
    ]
    parts += [part("fuzzing", 1, "build fuzzers"), part("ovs", 1)]
    reports = selftest.run_parts(parts, 85)
    verdicts = {report.title: report.results[0].verdict for report in reports}
    assert [title for title, verdict in verdicts.items() if isinstance(verdict, Passed)] == [
        "build",
        "python",
        "ovs",
    ]
    assert verdicts["live"] == Skipped("takes some 39 minutes on this machine, and of --within 31 are left")
    assert verdicts["fuzzing"] == Skipped("`build fuzzers` was skipped")
    assert selftest.report(reports) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "3 passed, 0 failed"
    assert "skipped live: takes some 39 minutes on this machine, and of --within 31 are left" in said


def test_a_suite_whose_time_is_over_keeps_its_results_and_names_the_rest(root: Path) -> None:
    folder = root / "tests" / "python"
    folder.mkdir(parents=True)
    (folder / "test_quick.py").write_text("def test(): pass\n" + 200 * "# first, by its size\n")
    (folder / "test_slow.py").write_text("import time\ndef test(): time.sleep(60)\n")
    step = Step("test", io.StringIO(), ends=time.monotonic() + 8)
    found = suites.pytest("tests/python", step, at_once=2)
    assert kinds(found) == ["Passed", "Skipped"]
    assert found[1].name.endswith("test_slow.py") and found[1].verdict == Skipped(suites.NO_TIME)


def test_fast_leaves_out_the_slow_kinds_unless_they_are_named() -> None:
    def titles(labels: list[str], fast: bool) -> set[str]:
        return {part.title for part in selftest.plan(labels, fast, 60)}

    everything = titles(list(selftest.LABELS), False)
    assert {
        "style",
        "unit tests (sanitizers)",
        "Python tests",
        "live tests",
        "fuzzing",
        "clang-tidy",
        "tests with threads (ThreadSanitizer)",
    } < everything
    assert titles(["wire"], False) == {"build dev", "unit tests (sanitizers)"}
    assert "Open vSwitch's unit tests" in titles(["ovs"], True)


def test_junit_of_ctest_and_pytest_is_read(tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    file.write_text(
        '<testsuites><testsuite><testcase name="units_test" classname="units_test" time="0.5" status="run"/>'
        '<testcase name="psn_test" status="fail"><failure message=""/><system-out>psn_test.cc:3: x</system-out></testcase>'
        '<testcase name="gone_test" status="notrun"/>'
        '<testcase classname="test_cli" name="test_a"><error message="boom">trace</error></testcase>'
        '<testcase classname="test_cli" name="test_b"><skipped message="root"/></testcase></testsuite></testsuites>'
    )
    results = junit.read(file)
    assert kinds(results) == ["Passed", "Failed", "Failed", "Failed", "Skipped"]
    assert results[0].name == "units_test" and results[3].name == "test_cli::test_a"
    assert isinstance(results[1].verdict, Failed) and "psn_test.cc:3: x" in results[1].verdict.reason


def test_a_crash_a_collection_error_and_an_empty_suite_are_failures(root: Path, step: Step) -> None:
    tests = root / "tests" / "python"
    tests.mkdir(parents=True)
    assert kinds(suites.pytest("tests/python", step)) == ["Failed"]
    (tests / "test_broken.py").write_text("import no_such_module\n")
    assert kinds(suites.pytest("tests/python", step)) == ["Failed"]
    (tests / "test_broken.py").write_text("import os\ndef test_a():\n    os._exit(3)\n")
    assert "Failed" in kinds(suites.pytest("tests/python", step))
    (tests / "test_broken.py").write_text("def test_a():\n    pass\n")
    assert kinds(suites.pytest("tests/python", step)) == ["Passed"]


def test_files_run_side_by_side_and_a_crash_of_one_hides_no_other(root: Path, step: Step) -> None:
    tests = root / "tests" / "python"
    tests.mkdir(parents=True)
    meeting = """
import pathlib, time
def test_meets_the_other():
    pathlib.Path({mine!r}).touch()
    end = time.monotonic() + 60
    while not pathlib.Path({other!r}).exists():
        assert time.monotonic() < end
        time.sleep(0.01)
"""
    a, b = str(root / "a"), str(root / "b")
    (tests / "test_a.py").write_text(meeting.format(mine=a, other=b))
    (tests / "test_b.py").write_text(meeting.format(mine=b, other=a))
    assert kinds(suites.pytest("tests/python", step, at_once=2)) == ["Passed", "Passed"]
    (tests / "test_c.py").write_text("import os\ndef test_c():\n    os._exit(3)\n")
    assert sorted(kinds(suites.pytest("tests/python", step, at_once=2))) == ["Failed", "Passed", "Passed"]


def test_a_label_without_tests_is_a_failure(root: Path, step: Step) -> None:
    (root / "build/dev").mkdir(parents=True)
    (root / "build/dev/CTestTestfile.cmake").write_text("")
    assert kinds(suites.ctest(["unit"], step)) == ["Failed"]


def test_ctest_programs_are_counted_one_by_one(root: Path, step: Step) -> None:
    (root / "build/dev").mkdir(parents=True)
    lines = []
    for name, label in (("true", "unit"), ("false", "wire"), ("ls", "pair")):
        lines.append(f"add_test({name} /bin/{name})\nset_tests_properties({name} PROPERTIES LABELS {label})")
    (root / "build/dev/CTestTestfile.cmake").write_text("\n".join(lines))
    assert sorted(kinds(suites.ctest(["unit", "wire"], step))) == ["Failed", "Passed"]


def test_live_tests_are_skipped_without_root(step: Step, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suites, "is_root", lambda: False)
    assert kinds(suites.live(step)) == ["Skipped"]


@pytest.mark.parametrize(
    ("file", "text", "verdict"),
    [
        (
            "rocelab.abc123.ovs-vswitchd.err",
            "lossless.c:7:3: runtime error: signed integer overflow",
            "Failed",
        ),
        ("rocelab.abc123.ovs-vswitchd.err", "2026-11-24T00:00:00Z|00001|ovs_numa|INFO|2 cores", None),
        ("rocelab.abc123.ovsdb-server.err", "", None),
        ("report.17", "==17==ERROR: AddressSanitizer: heap-use-after-free", "Failed"),
        ("report.17", "==17==WARNING: ASan is ignoring requested __asan_handle_no_return", None),
    ],
)
def test_sanitizer_reports_of_programs_and_daemons_are_failures(
    root: Path, step: Step, monkeypatch: pytest.MonkeyPatch, file: str, text: str, verdict: str | None
) -> None:
    monkeypatch.setattr(suites, "is_root", lambda: True)
    monkeypatch.setattr(suites, "THREADED_LIVE", ("test_a.py",))
    tests = root / "tests" / "live"
    tests.mkdir(parents=True)
    (tests / "test_a.py").write_text(
        f"""
import os, pathlib
def test_a():
    pathlib.Path(os.environ["ROCELAB_OVS_STDERR"], {file!r}).write_text({text!r})
"""
    )
    for suite in (suites.sanitized_live, suites.threaded_live):
        passed, *found = suite(step)
        assert isinstance(passed.verdict, Passed)
        assert kinds(found) == ([verdict] if verdict else [])
        assert all(isinstance(f.verdict, Failed) and f.verdict.reason == text for f in found)


def test_a_finding_of_a_fuzzer_says_how_to_repeat_it(root: Path, step: Step) -> None:
    folder = root / "build/fuzz/fuzzers"
    folder.mkdir(parents=True)
    assert kinds(fuzz.fuzz(2, step)) == ["Failed"]
    for name, text in (
        ("good_fuzzer", "#!/bin/sh\necho '#100 DONE'\n"),
        ("bad_fuzzer", "#!/bin/sh\necho 'Test unit written to /x/crash-1'\nexit 77\n"),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    bad, good = fuzz.fuzz(2, step)
    assert (
        isinstance(bad.verdict, Failed)
        and f"repeat it with {folder}/bad_fuzzer /x/crash-1" in bad.verdict.reason
    )
    assert good == Result("good_fuzzer", Passed(), good.seconds)


def test_verdicts_of_open_vswitchs_tests_are_read() -> None:
    text = """
1060: PMD - creating a thread/add-port                ok
1061: PMD - multiqueue support                        FAILED (pmd.at:99)
1062: PMD - AVX512                                    skipped (pmd.at:124)
1063: PMD - monitor threads                           FAILED (pmd.at:1)
1063: PMD - monitor threads                           ok
All 3 tests were successful.
"""
    results = ovs.parse(text)
    assert kinds(results) == ["Passed", "Failed", "Skipped", "Passed"]
    assert results[1].name == "1061: PMD - multiqueue support"


def test_daemons_of_a_suite_that_was_cut_short_are_ended_and_others_are_not() -> None:
    argv = ["setsid", "sleep", "60"]
    marked = subprocess.Popen(argv, env={**os.environ, "ROCELAB_OVS_TESTS": "abc"})
    other = subprocess.Popen(argv, env={**os.environ, "ROCELAB_OVS_TESTS": "abd"})
    try:
        # Between setsid and sleep a process has no environment for a moment.
        while not Path(f"/proc/{marked.pid}/cmdline").read_bytes().startswith(b"sleep"):
            pass
        ovs.end_marked("abc")
        assert marked.wait(timeout=5) == -9 and other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_a_badly_formatted_file_fails_the_style_step(root: Path, step: Step) -> None:
    for name, text in (
        (".clang-format", "BasedOnStyle: Google\n"),
        ("base/a.cc", "int  x;\n"),
        ("emu/a.py", "import os\nx = {  }\n"),
        ("pyproject.toml", '[tool.mypy]\nstrict = true\nfiles = ["emu"]\n'),
    ):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    verdicts = {result.name: type(result.verdict).__name__ for result in style.check(step)}
    assert verdicts["clang-format"] == "Failed" and verdicts["black"] == "Failed"
    assert verdicts["pyflakes"] == "Failed"
    (root / "base/a.cc").write_text("int x;\n")
    (root / "emu/a.py").write_text("x = 1\n")
    assert kinds(style.check(step)) == ["Passed"] * 4


def test_the_ci_script_runs_the_documented_command() -> None:
    script = Path(__file__).resolve().parents[2] / ".ci" / "run"
    commands = [line for line in script.read_text().splitlines() if line and not line.startswith("#")]
    assert len(commands) == 1 and commands[0].endswith('/rocelab" test --within 84')


def test_the_entry_point_uses_debians_python_whatever_is_first_in_path(tmp_path: Path) -> None:
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 99\n")
    (tmp_path / "python3").chmod(0o755)
    entry = Path(__file__).resolve().parents[2] / "rocelab"
    environment = {**os.environ, "PATH": f"{tmp_path}:/usr/bin:/bin"}
    assert subprocess.run([str(entry), "--help"], env=environment, capture_output=True).returncode == 0
    assert sys.executable.startswith("/usr/bin/")
