"""The plugin of pytest."""

from __future__ import annotations

import subprocess
import sys

TEST = """
import pytest

class Bench:
    def __init__(self, bears):
        self.bears = bears
    def __call__(self, load_pps, duration_s):
        offered = int(load_pps * duration_s)
        return {"offered": offered, "forwarded": min(offered, int(self.bears * duration_s))}

@pytest.mark.dropline(goals=[0], max_load=14.88e6, algorithm="mlr")
def test_bench(dropline):
    record = dropline(Bench(BEARS))
    assert record.goals[0].lower_pps > 1e6
"""


def test_records_are_kept_and_compared_by_a_verdict(pytester):
    pytester.makepyfile(TEST.replace("BEARS", "9e6"))
    recorded = pytester.runpytest_subprocess("--dropline-record=base")
    recorded.assert_outcomes(passed=1)
    recorded.stdout.fnmatch_lines(["*dropline*", "*test_bench: *"])
    (kept,) = (pytester.path / ".dropline" / "base").iterdir()
    assert "test_bench-" in kept.name

    import dropline

    assert dropline.read(kept).goals[0].result == "regular"
    same = pytester.runpytest_subprocess("--dropline-compare=base")
    same.assert_outcomes(passed=1)
    same.stdout.fnmatch_lines(["*compared with *"])
    pytester.makepyfile(TEST.replace("BEARS", "8e6"))
    worse = pytester.runpytest_subprocess("--dropline-compare=base", "--dropline-record=night")
    worse.assert_outcomes(failed=1)
    worse.stdout.fnmatch_lines(["*the limit is worse than that of *", "*regressed*"])
    assert len(list((pytester.path / ".dropline" / "night").iterdir())) == 1
    both = pytester.runpytest_subprocess("--dropline-compare=base", "--dropline-record=base")
    both.assert_outcomes(failed=1)
    assert dropline.read(kept).goals[0].lower_pps > 8.9e6, "what it was worse than stays"
    pytester.makepyfile(TEST.replace("BEARS", "9.5e6"))
    again = pytester.runpytest_subprocess("--dropline-record=base")
    again.assert_outcomes(passed=1)
    assert dropline.read(kept).goals[0].lower_pps > 9.4e6, "an older record is replaced"


def test_each_test_has_a_record_of_its_own_whatever_its_parameters_are_called(pytester):
    pytester.makepyfile(
        TEST.replace("BEARS", "bears")
        .replace("def test_bench(dropline)", "def test_bench(dropline, bears)")
        .replace("@pytest.mark.dropline", '@pytest.mark.parametrize("bears", [9e6, 5e6, 3e6], ids=["a/b", "a-b", "a b"])\n@pytest.mark.dropline')
    )
    pytester.runpytest_subprocess("--dropline-record=base").assert_outcomes(passed=3)
    assert len(list((pytester.path / ".dropline" / "base").iterdir())) == 3
    pytester.runpytest_subprocess("--dropline-compare=base").assert_outcomes(passed=3)


def test_what_a_search_is_compared_with_stays_unless_it_was_bettered(pytester):
    import dropline

    both = ["--dropline-record=base", "--dropline-compare=base"]
    for bears, kept in [("9e6", 9e6), ("8.9e6", 9e6), ("9.9e6", 9.9e6)]:
        pytester.makepyfile(TEST.replace("BEARS", bears))
        pytester.runpytest_subprocess(*both).assert_outcomes(passed=1)
        (path,) = (pytester.path / ".dropline" / "base").iterdir()
        assert abs(dropline.read(path).goals[0].lower_pps / kept - 1) < 0.006, bears


def test_a_test_without_a_kept_record_passes_and_says_so(pytester):
    pytester.makepyfile(TEST.replace("BEARS", "9e6"))
    run = pytester.runpytest_subprocess("--dropline-compare=none")
    run.assert_outcomes(passed=1)
    run.stdout.fnmatch_lines(["*nothing to compare with: *"])


def test_a_search_that_is_not_valid_fails_its_test(pytester):
    weak = TEST.replace("BEARS", "9e6").replace("offered = int(load_pps * duration_s)", "offered = int(min(load_pps, 1e5) * duration_s)")
    pytester.makepyfile(weak)
    run = pytester.runpytest_subprocess()
    run.assert_outcomes(failed=1)
    run.stdout.fnmatch_lines(["*NotValidError*"])


def test_a_run_that_does_not_use_it_imports_nothing_of_it(pytester):
    pytester.makepyfile(
        """
        import sys

        def test_other():
            assert "dropline._dropline" not in sys.modules and "numpy" not in sys.modules
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_the_plugin_is_found_by_its_entry_point():
    helped = subprocess.run([sys.executable, "-m", "pytest", "--help"], check=True, capture_output=True, text=True).stdout
    assert "--dropline-record" in helped and "--dropline-compare" in helped
