"""The library of Robot Framework."""

from __future__ import annotations

import subprocess
import sys

SUITE = """
*** Settings ***
Library    dropline.robot

*** Test Cases ***
The Limit Stands
    ${record}=    Find Drop Line    sim:hard?capacity=9Mpps    0    0.5%    max_load=14880000    record=${OUTPUT DIR}/kept.jsonl
    Lower Bound Should Be At Least    ${record.goals}[0]    8e6
    ${slow}=    Find Drop Line    sim:hard?capacity=8Mpps    0    0.5%    max_load=14880000
    Limits Should Not Be Worse Than    ${record}    ${slow}
    ${why}=    Run Keyword And Expect Error    regressed*    Limits Should Not Be Worse Than    ${slow}    ${OUTPUT DIR}/kept.jsonl
    Run Keyword And Expect Error    the lower bound is*    Lower Bound Should Be At Least    ${slow.goals}[0]    9e6
    Run Keyword And Expect Error    *max_load*needs a unit*    Find Drop Line    sim:hard    0    max_load=9M
"""


def test_keywords_search_compare_and_log_the_page(tmp_path):
    suite = tmp_path / "limits.robot"
    suite.write_text(SUITE)
    run = subprocess.run(
        [sys.executable, "-m", "robot", "--outputdir", tmp_path, suite], capture_output=True, text=True, cwd=tmp_path
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "iframe srcdoc" in (tmp_path / "output.xml").read_text()
