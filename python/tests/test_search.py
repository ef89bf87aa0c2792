"""Searches around targets and functions."""

from __future__ import annotations

import copy
import datetime
import decimal
import fractions
import json
import os
import pickle
import signal
import socket
import threading
import time
import typing

import numpy
import pandas
import pytest

import dropline


def test_a_search_of_a_word_is_that_of_the_command_line():
    record = dropline.search("sim:hard?capacity=9Mpps", goals=[0, dropline.Goal(0.005, width="1%")], seed=3)
    assert record.target == "sim:hard?capacity=9Mpps"
    assert [goal.loss_ratio for goal in record.goals] == [0, 0.005]
    assert record.goals[1].width == 0.01
    for goal in record.goals:
        assert goal.level == 0.95
        assert 8.9e6 < goal.lower_pps < goal.median_pps < goal.upper_pps < 9.2e6
    assert record.is_valid and record.require_valid() is record
    assert "sim:hard" in record.line() and "sim:hard" in str(record)


def test_what_is_not_said_of_a_service_is_what_the_command_line_takes(tmp_path):
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    server.settimeout(0.2)
    done = threading.Event()

    def serve():
        while not done.is_set():
            try:
                request, asker = server.recvfrom(512)
            except TimeoutError:
                continue
            # A response without an answer.
            server.sendto(request[:2] + bytes([request[2] | 0x80]) + request[3:], asker)

    thread = threading.Thread(target=serve)
    thread.start()
    path = tmp_path / "service.jsonl"
    word = f"dns://127.0.0.1:{server.getsockname()[1]}?names=h{{0..9}}.example.org"
    try:
        dropline.search(word, min_load=1000, max_load=40e3, max_trials=1, record=path)
    finally:
        done.set()
        thread.join()
        server.close()
    profile = json.loads(path.read_text().splitlines()[0])["profile"]
    assert len(profile["streams"]) >= 4


def test_a_function_is_a_target_with_record_delays_caveats_and_page(counted, tmp_path):
    path = tmp_path / "own.jsonl"

    def bench(load_pps, duration_s):
        answer = counted(load_pps, duration_s)
        histogram = [[30_000, answer["forwarded"]]]
        return {**answer, "delay_ns_histogram": histogram, "caveats": [{"code": "warm", "text": "the room was warm"}]}

    record = dropline.search(
        bench, goals=["0.5%"], max_load="14.88Mpps", algorithm="mlr", delay_at=["50%"], record=path, name="my bench"
    )
    assert record.target == "measurer:my bench"
    assert len(record.trials) == len(counted.asked)
    assert record.trials[0].intended_load_pps == counted.asked[0][0]
    (at_half,) = [trial for trial in record.trials if trial.purpose == "delay_at"]
    assert at_half.delay_ns.count == at_half.forwarded
    assert "warm" in [caveat.code for caveat in record.caveats]
    # What was kept is what was handed back, and it is what others read.
    kept = dropline.read(path)
    assert kept == record
    assert dropline.Record.from_lines(path.read_text()) == record
    assert pickle.loads(pickle.dumps(record)) == record
    page = record.html()
    assert "measurer:my bench" in page and page.lower().startswith("<!doctype html")
    shown = record._repr_html_()
    assert shown.startswith("<iframe srcdoc=") and "<!doctype" not in shown.lower()
    assert json.loads(record.to_json())["goals"][0]["lower_pps"] == record.goals[0].lower_pps


def test_columns_of_trials_are_of_one_length(counted):
    columns = dropline.search(counted, goals=[0], max_load=14.88e6).columns()
    assert len({len(column) for column in columns.values()}) == 1
    assert {"intended_load_pps", "offered", "forwarded", "loss_ratio"} <= columns.keys()


def test_what_a_function_raises_is_raised_and_what_was_measured_is_kept_and_resumed(counted, tmp_path):
    path = tmp_path / "own.jsonl"
    arguments = {"goals": [0], "max_load": 14.88e6, "algorithm": "mlr", "name": "my bench"}
    whole = dropline.search(counted, **arguments)
    calls = iter(range(1, 1000))

    class OnFire(Exception):
        pass

    def fails(load_pps, duration_s):
        if next(calls) == 6:
            raise OnFire("the bench")
        return counted(load_pps, duration_s)

    with pytest.raises(OnFire, match="the bench") as raised:
        dropline.search(fails, record=path, **arguments)
    assert len(raised.value.record.trials) == 5
    broken = dropline.read(path)
    assert len(broken.trials) == 5
    assert any("the measurer raised" in caveat.text and "OnFire" in caveat.text for caveat in broken.caveats)
    resumed = dropline.search(counted, name="my bench", resume=path)
    assert len(resumed.trials) == len(whole.trials)
    assert [dict(goal) for goal in resumed.goals] == [dict(goal) for goal in whole.goals]
    assert dropline.read(path) == resumed
    # What the record says is not said again: it would not be heard.
    with pytest.raises(dropline.UsageError, match="leave goals and seed out"):
        dropline.search(counted, name="my bench", resume=path, goals=[0.01], seed=0)
    # Its name is that of the record.
    with pytest.raises(dropline.UsageError, match="is a search of measurer:my bench, and this is another target: measurer:other") as raised:
        dropline.search(counted, name="other", resume=path)
    assert "name=" in str(raised.value) and "--resume" not in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"goals": ["2"]}, dropline.UsageError, "below 1"),
        ({"goals": [0], "algorithm": "mrl"}, dropline.UsageError, 'did you mean "mlr"'),
        ({"goals": [0], "max_load": "9"}, dropline.UsageError, "needs a unit"),
        ({"goals": [0], "level": "95%", "algorithm": "mlr"}, dropline.UsageError, "level needs"),
        ({"preset": "csit", "goals": [0]}, dropline.UsageError, "preset says what the goals are: leave goals out"),
        ({"budget": 0}, dropline.UsageError, "budget"),
        ({"max_load": float("nan")}, dropline.UsageError, "max_load is nan: it has to be a finite number of packets"),
        ({"seed": -1}, dropline.UsageError, "seed is -1: it has to be a whole number"),
        ({"seed": "7"}, dropline.UsageError, "seed is '7': it has to be a whole number"),
        ({"seed": True}, dropline.UsageError, "seed is True"),
        ({"max_trials": 2.5}, dropline.UsageError, "max_trials is 2.5: it has to be a whole number"),
        ({"certify": "no"}, dropline.UsageError, "certify is 'no': it has to be True or False"),
        ({"goals": [0, None]}, dropline.UsageError, r"goals\[1\] is None: it has to be a finite number"),
        ({"goals": [dropline.Goal(width=[1])]}, dropline.UsageError, r"width is \[1\]"),
        ({"algorithm": 5}, dropline.UsageError, "algorithm is 5: it has to be words"),
        ({"level": True}, dropline.UsageError, "level is True"),
        ({"budget": []}, dropline.UsageError, r"budget is \[\]: it has to be a finite number of seconds"),
        ({"delay_at": [None]}, dropline.UsageError, r"delay_at\[0\] is None"),
        ({"record": 5}, dropline.UsageError, "record is 5: it has to be the name of a file"),
        ({"resume": 5}, dropline.UsageError, "resume is 5: it has to be the name of a file"),
        ({"name": 5}, dropline.UsageError, "name is 5: it has to be words"),
    ],
)
def test_a_wrong_word_is_a_value_error_that_says_what_it_should_be(arguments, error, words):
    with pytest.raises(error, match=words) as raised:
        dropline.search("sim:hard", **arguments)
    assert isinstance(raised.value, ValueError) and raised.value.exit_code == 2


def test_a_function_has_no_highest_load_by_itself(counted):
    with pytest.raises(dropline.UsageError, match="max_load is needed"):
        dropline.search(counted)
    assert counted.asked == []


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"offered": 10}, "forwarded"),
        ({"offered": 10, "forwarded": 11}, "forwarded"),
        ({"offered": "many", "forwarded": 1}, "offered"),
        (None, "mapping"),
        ({"offered": 10, "forwarded": float("nan")}, "forwarded is nan: it has to be a whole number"),
        ({"offered": 10, "forwarded": pandas.NA}, "forwarded is <NA>"),
        ({"offered": numpy.arange(3), "forwarded": 1}, r"offered is array\(\[0, 1, 2\]\)"),
        ({"offered": 10, "forwarded": True}, "forwarded is True"),
        ({"offered": 10, "forwarded": 1.5}, "forwarded is 1.5"),
        ({"offered": 1, "forwarded": 1, "elapsed_s": "1"}, "elapsed_s is '1': it has to be a finite number of seconds"),
        ({"offered": 1, "forwarded": 1, "delay_ns_histogram": [(1, 1), 5]}, r"delay_ns_histogram\[1\] is 5"),
        ({"offered": 1, "forwarded": 1, "delay_ns_histogram": [(1.5, 1)]}, r"delay_ns_histogram\[0\] is 1.5"),
        ({"offered": 1, "forwarded": 1, "delay_ns_histogram": {1: 1}}, "delay_ns_histogram is {1: 1}: it has to be a list"),
        ({"offered": 1, "forwarded": 1, "slices": [{"offered": None, "forwarded": "x"}]}, r"slices\[0\].forwarded is 'x'"),
        ({"offered": 1, "forwarded": 1, "caveats": "warm"}, "caveats is 'warm': it has to be a list"),
        ({"offered": 1, "forwarded": 1, "caveats": ["warm", 5]}, r"caveats\[1\] is 5"),
        ({"offered": 1, "forwarded": 1, "caveats": [{"code": 5}]}, r"caveats\[0\].code is 5"),
    ],
)
def test_a_wrong_answer_of_a_function_says_what_an_answer_is(answer, words):
    with pytest.raises(dropline.UsageError, match=words):
        dropline.search(lambda load_pps, duration_s: answer, max_load=1e6)


@pytest.mark.parametrize(
    "more",
    [{"trial": 3}, {"when": datetime.datetime.now()}, {"raw": numpy.arange(3)}, {(0, 1): 1}, {"latency_jitter": float("nan")}],
    ids=["trial", "time", "array", "tuple as key", "nan"],
)
def test_what_is_not_listed_in_an_answer_is_left_out(counted, more):
    arguments = {"goals": [0], "max_load": 14.88e6, "max_trials": 5}
    with_more = dropline.search(lambda load, duration: {**counted(load, duration), **more}, name="it", **arguments)
    assert with_more.trials == dropline.search(counted, name="it", **arguments).trials


@pytest.mark.parametrize(
    "histogram",
    [
        lambda count: numpy.array([[30_000, count]]),
        lambda count: [(30_000, count)],
        lambda count: ((delay, count) for delay in [30_000]),
        lambda count: [[30_000.0, numpy.float64(count)]],
        lambda count: [numpy.array([30_000, count])],
    ],
    ids=["array", "tuples", "generator", "floats", "list of arrays"],
)
def test_pairs_of_delay_and_count_are_a_histogram_whatever_holds_them(counted, histogram):
    def bench(load_pps, duration_s):
        counts = counted(load_pps, duration_s)
        return {**counts, "delay_ns_histogram": histogram(counts["forwarded"])}

    trial = dropline.search(bench, goals=[0], max_load=14.88e6, max_trials=1).trials[0]
    assert trial.delay_ns.count == trial.forwarded and trial.delay_ns.min == pytest.approx(30_000, rel=0.01)


@pytest.mark.parametrize("kind", [float, numpy.float64, numpy.int64, decimal.Decimal, fractions.Fraction])
def test_a_whole_number_is_a_count_whatever_kind_it_is_of(counted, kind):
    def bench(load_pps, duration_s):
        return {name: kind(count) for name, count in counted(load_pps, duration_s).items()}

    arguments = {"goals": [0], "max_load": 14.88e6, "name": "it"}
    record = dropline.search(bench, max_trials=kind(3), seed=kind(5), **arguments)
    assert record.trials == dropline.search(counted, max_trials=3, seed=5, **arguments).trials


@pytest.mark.parametrize("caveat", ["generator_limited", {"code": "generator_limited"}, {"code": "generator_limited", "text": None}])
def test_a_code_alone_says_that_a_trial_is_spoilt(counted, caveat):
    record = dropline.search(
        lambda load, duration: {**counted(load, duration), "caveats": [caveat]}, goals=[0], max_load=14.88e6
    )
    assert not record.is_valid
    assert record.trials[0].caveats[0].code == "generator_limited"


def test_a_record_that_exists_is_told_in_words_of_python(counted, tmp_path):
    path = tmp_path / "own.jsonl"
    arguments = {"goals": [0], "max_load": 14.88e6, "record": path}
    dropline.search(counted, **arguments)
    before = path.read_text()
    with pytest.raises(dropline.UsageError) as raised:
        dropline.search(counted, **arguments)
    assert f"resume={str(path)!r}" in str(raised.value) and "--resume" not in str(raised.value)
    with pytest.raises(dropline.UsageError, match="not a file") as raised:
        dropline.search(counted, **{**arguments, "record": tmp_path})
    assert "-o" not in str(raised.value).split()
    assert path.read_text() == before


def test_a_function_may_go_to_another_directory(counted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()

    def bench(load_pps, duration_s):
        os.chdir(tmp_path / "elsewhere")
        return counted(load_pps, duration_s)

    record = dropline.search(bench, goals=[0], max_load=14.88e6, record="own.jsonl")
    assert dropline.read(tmp_path / "own.jsonl") == record


def test_what_was_measured_cannot_be_written_over():
    record = dropline.search("sim:hard", goals=[0], max_trials=3)
    trial = record.trials[0]
    before = dict(trial)
    with pytest.raises(AttributeError, match="cannot be set"):
        trial.offered = 5
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del trial.offered
    for several in (record.trials, record.goals, record.caveats):
        with pytest.raises(AttributeError):
            several.append(1)
    assert dict(trial) == before and pickle.loads(pickle.dumps(trial)) == trial == copy.deepcopy(trial)


def test_the_record_of_an_error_is_a_record_to_a_checker_of_types():
    hints = typing.get_type_hints(dropline.DroplineError, {**vars(typing), "Record": dropline.Record})
    assert hints["record"] == typing.Optional[dropline.Record]


def test_what_is_no_target_is_named():
    with pytest.raises(dropline.UsageError, match="target is 5: it has to be a word"):
        dropline.search(5)
    with pytest.raises(dropline.UsageError, match="path is 5: it has to be the name of a file"):
        dropline.read(5)
    search = dropline.Search(max_load=1e6)
    search.next_trial()
    with pytest.raises(dropline.UsageError, match="counts is 5: it has to be a mapping"):
        search.record(5)


def test_a_target_outside_of_this_machine_is_refused_with_exit_code_4():
    with pytest.raises(dropline.RefusedError, match="192.0.2.1") as raised:
        dropline.search("udp://192.0.2.1:7007")
    assert raised.value.exit_code == 4


def test_a_load_that_a_function_cannot_offer_makes_the_search_not_valid():
    def weak(load_pps, duration_s):
        offered = min(int(load_pps * duration_s), int(1e6 * duration_s))
        return {"offered": offered, "forwarded": offered}

    record = dropline.search(weak, goals=[0], max_load=14.88e6)
    assert not record.is_valid
    with pytest.raises(dropline.NotValidError, match="offer") as raised:
        record.require_valid()
    assert raised.value.exit_code == 3 and raised.value.record is record


@pytest.fixture
def heard():
    """Ctrl-C is heard, even if whoever started the tests ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def _interrupt_when(ready: threading.Event) -> threading.Thread:
    def send():
        assert ready.wait(30)
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def test_ctrl_c_ends_a_search_of_a_real_target_and_keeps_what_it_measured(heard, tmp_path):
    path = tmp_path / "stopped.jsonl"
    sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sink.bind(("127.0.0.1", 0))
    begun, done = threading.Event(), threading.Event()

    def watch():
        # The record has a trial: the search is under way.
        until = time.monotonic() + 60
        while time.monotonic() < until and not done.is_set():
            if path.exists() and path.read_text().count("\n") > 1:
                begun.set()
                return
            time.sleep(0.02)

    watching = threading.Thread(target=watch)
    watching.start()
    sending = _interrupt_when(begun)
    try:
        with pytest.raises(KeyboardInterrupt) as raised:
            dropline.search(
                f"udp://127.0.0.1:{sink.getsockname()[1]}?reply=none", max_load="2kpps", algorithm="mlr", record=path
            )
    finally:
        done.set()
        watching.join()
        sending.join()
        sink.close()
    record = dropline.read(path)
    assert record.trials and record == raised.value.record
    assert "interrupted" in [caveat.code for caveat in record.caveats]


def test_ctrl_c_in_a_function_ends_the_search_at_once_and_keeps_what_it_measured(heard, counted, tmp_path):
    path = tmp_path / "stopped.jsonl"
    inside, slept = threading.Event(), []

    def slow(load_pps, duration_s):
        answer = counted(load_pps, duration_s)
        if len(counted.asked) == 3:
            inside.set()
            # A signal just before a sleep does not end it.
            for _ in range(600):
                time.sleep(0.1)
            slept.append(load_pps)
        return answer

    sending = _interrupt_when(inside)
    with pytest.raises(KeyboardInterrupt):
        dropline.search(slow, max_load=14.88e6, record=path)
    sending.join()
    assert slept == [], "the function would have slept for a minute"
    assert len(dropline.read(path).trials) == 2


def test_another_thread_runs_while_a_search_does():
    stop, turns = threading.Event(), 0

    def count():
        nonlocal turns
        while not stop.is_set():
            turns += 1
            time.sleep(0)

    thread = threading.Thread(target=count)
    thread.start()
    before = turns
    record = dropline.search("sim:soft", algorithm="credible")
    during = turns - before
    stop.set()
    thread.join()
    assert record.trials and during > 0


def test_two_searches_run_in_two_threads(counted):
    found = {}

    def one(seed):
        found[seed] = dropline.search("sim:hard", goals=[0], seed=seed).goals[0].median_pps

    threads = [threading.Thread(target=one, args=(seed,)) for seed in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 2


def test_a_search_of_questions_answers_as_the_runner_does(counted):
    arguments = {"goals": [0, "0.5%"], "max_load": 14.88e6, "min_load": 1e3, "algorithm": "mlr"}
    run = dropline.search(counted, budget="20min", **arguments)
    search = dropline.Search(budget="20min", **arguments)
    asked = []
    for wanted in search:
        assert search.next_trial() == wanted
        asked.append((wanted.load_pps, wanted.duration_s))
        search.record(counted(wanted.load_pps, wanted.duration_s))
    assert asked == [(trial.intended_load_pps, trial.intended_duration_s) for trial in run.trials]
    bounds = [(goal.lower_pps, goal.upper_pps, goal.result) for goal in search.goals]
    assert bounds == [(goal.lower_pps, goal.upper_pps, goal.result) for goal in run.goals]
    with pytest.raises(dropline.UsageError, match="done"):
        search.record(offered=1, forwarded=1)


def test_a_trial_that_nobody_asked_for_is_not_told_and_none_twice():
    search = dropline.Search(goals=[0], max_load=1e7)
    with pytest.raises(dropline.UsageError, match="no trial waits for an answer"):
        search.record(offered=5, forwarded=5)
    wanted = search.next_trial()
    search.record(offered=wanted.intended, forwarded=0)
    with pytest.raises(dropline.UsageError, match="each is answered once"):
        search.record(offered=wanted.intended, forwarded=0)


def test_a_simulated_system_is_a_function_with_a_known_limit():
    system = dropline.simulated("hard?capacity=9Mpps")
    assert system(1e6, 1.0)["forwarded"] == 1_000_000
    record = dropline.search(system, goals=[0], max_load=14.88e6)
    assert record.target == "measurer:sim:hard?capacity=9Mpps"
    assert abs(record.goals[0].median_pps / 9e6 - 1) < 0.01
    with pytest.raises(dropline.UsageError, match="there is no simulated system"):
        dropline.simulated("harder")


def test_importing_it_loads_next_to_nothing_and_searching_nothing_of_others(tmp_path):
    import subprocess
    import sys

    def loaded(code: str) -> set[str]:
        code = f"import sys; before = set(sys.modules); {code}; print(*(set(sys.modules) - before))"
        words = [sys.executable, "-I", "-c", code]
        return set(subprocess.run(words, check=True, capture_output=True, text=True, cwd=tmp_path).stdout.split())

    assert loaded("import dropline") <= {"dropline", "__future__"}
    searched = loaded("import dropline; dropline.search")
    assert "dropline._dropline" in searched
    assert not {"numpy", "pandas", "pytest", "robot", "dropline.mlrsearch"} & searched


def test_every_name_is_there():
    assert {name for name in dropline.__all__ if getattr(dropline, name) is not None} == set(dropline.__all__) <= set(dir(dropline))


def test_one_packet_more_than_was_asked_for_is_a_load_that_was_rounded_up():
    def bench(load_pps, duration_s):
        offered = int(load_pps * duration_s) + 1
        return {"offered": offered, "forwarded": min(offered, int(5e6 * duration_s))}

    trials = dropline.search(bench, goals=[0], max_load=14.88e6).trials
    assert all(trial.intended == trial.offered for trial in trials)
    with pytest.raises(dropline.UsageError, match="more than"):
        dropline.search(lambda load, duration: {"offered": int(load * duration) + 2, "forwarded": 1}, max_load=14.88e6)
