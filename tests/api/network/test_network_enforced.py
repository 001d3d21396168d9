# SPDX-License-Identifier: GPL-2.0-or-later
"""What a policy means to the packets and questions of a real sandbox, against an internet of its own."""

import json
import secrets
import time

import pytest

from tenant import Sandbox
from fake_internet import FirewallProcess
from stack import wait_until

pytestmark = pytest.mark.parallel

HERE, OTHER, THIRD = "203.0.113.7", "203.0.113.8", "198.51.100.9"
RESOLVER = "169.254.0.1"
REFUSED, NXDOMAIN = 5, 3


@pytest.fixture(scope="module")
def sandbox(module_account, internet):
    sandbox = Sandbox.create(module_account.api, timeout=900, allow_internet_access=False)
    for name in ("reach.py", "hold.py", "ask.py"):
        sandbox.put_guest(name)
    return sandbox


def policy(sandbox, **fields):
    """Put a policy in force."""
    fields.setdefault("allow_internet_access", False)
    answer = sandbox.api.request("PUT", f"{sandbox.path}/network", fields)
    assert answer.status == 200, answer
    assert answer.json()["status"] == "applied", answer.json()


def reach(sandbox, *targets):
    text = sandbox.data.check(f"python3 /tmp/reach.py '{json.dumps(targets)}'", user="root")
    return json.loads(text)


def reaches(sandbox, *target):
    return reach(sandbox, list(target))[0] is True


def ask(sandbox, *questions, transport="udp"):
    text = sandbox.data.check(f"python3 /tmp/ask.py '{json.dumps(questions)}' {transport}")
    return json.loads(text)


def addresses(answer):
    return [text for kind, text, _ in answer["answers"] if kind == "A"]


class Flow:
    """guest/hold.py in the sandbox."""

    def __init__(self, sandbox, kind, mode, host, port):
        self.sandbox = sandbox
        self.path = f"/tmp/flow-{secrets.token_hex(4)}"
        sandbox.data.check(f"touch {self.path}")
        sandbox.data.background("python3", "/tmp/hold.py", kind, mode, host, str(port), self.path)
        wait_until(lambda: self.echoes() >= 1, 15, f"an answer of {host}")

    def lines(self):
        return self.sandbox.data.read(self.path).decode().splitlines()

    def echoes(self):
        return sum(line.startswith("echo") for line in self.lines())

    def ended(self):
        lines = self.lines()
        return lines[-1] if not lines[-1].startswith(("open", "echo")) else None

    def await_end(self):
        return wait_until(self.ended, 10, "the end of the flow")

    def assert_goes_on(self):
        assert self.ended() is None, self.lines()
        before = self.echoes()
        wait_until(lambda: self.echoes() > before + 1, 10, "more echoes")


# --- addresses ---


def test_nothing_is_reached_unless_it_is_allowed(sandbox, internet):
    policy(sandbox)
    results = reach(
        sandbox, ["tcp", HERE, 80], ["tcp", HERE, 443], ["udp", HERE, 5000], ["ping", HERE], ["tcp", THIRD, 22]
    )
    assert True not in results, results
    assert ask(sandbox, ["A", "api.example.com"])[0]["rcode"] == REFUSED
    assert not [line for line in internet.asked() if "api.example.com" in line]


def test_every_refusal_comes_at_once_and_is_the_same(sandbox, internet):
    """A program that waits for a refused destination would seem to hang. No program here waits."""
    internet.add("other.example.com", OTHER)
    datagrams = iter([(HERE, 443), (HERE, 53), (RESOLVER, 5000), (HERE, 5000)])
    for fields in {}, {"ask": True}, {"allow_out": ["api.example.com"]}, {"allow_internet_access": True, "deny_out": ["203.0.113.0/24"]}:
        policy(sandbox, **fields)
        streams = reach(sandbox, *[["tcp", HERE, port] for port in (22, 53, 80, 443, 853, 9418)],
                        ["tcp", RESOLVER, 80], ["tcp", RESOLVER, 443], ["tcp", "192.168.1.1", 443])
        assert all("Connection refused" in text for text in streams), (fields, streams)
        # The kernel sends few ICMP messages a second to one address.
        datagram = ["udp", *next(datagrams)]
        wait_until(lambda: "No route to host" in str(reach(sandbox, datagram)[0]), 60, f"the refusal of {datagram}", 0.3)
        if "allow_internet_access" in fields:
            continue
        for transport in "udp", "tcp", "edns":
            (answer,) = ask(sandbox, ["A", "other.example.com"], transport=transport)
            assert answer["rcode"] == REFUSED and not answer["answers"], (fields, transport, answer)
        assert "network policy" in answer["reason"] and ("approval" in answer["reason"]) == ("ask" in fields)


@pytest.mark.long
def test_common_programs_end_at_once_where_they_are_refused(sandbox, internet):
    """timeout(1) ends with 124 what would still wait."""
    policy(sandbox, ask=True)
    programs = [
        f"curl -sS http://{HERE}/", f"curl -sS https://{HERE}/", "curl -sS https://refused.example.com/",
        f"python3 -c \"import socket; socket.create_connection(('{HERE}', 22))\"",
        "python3 -m pip download --retries 0 --no-input -d /tmp/none nothing-there",
        f"bash -c 'exec 3<>/dev/tcp/{HERE}/443'", f"nc -w 60 {HERE} 443", f"git ls-remote ssh://git@{HERE}/a.git",
        "git ls-remote https://refused.example.com/a.git", "dig +tries=1 +time=60 refused.example.com",
        "npm view --fetch-retries=0 nothing-there",
    ]
    tried = 0
    for program in programs:
        if sandbox.data.bash(f"command -v {program.split()[0]}").exit_code:
            continue
        ended = sandbox.data.bash(f"timeout 50 {program}")
        assert ended.exit_code not in (0 if "dig" not in program else 1, 124), (program, ended)
        tried += 1
    assert tried >= 4, tried


def test_what_is_allowed_is_reached_with_its_port_only(sandbox, internet):
    policy(sandbox, allow_out=[f"{HERE}:443", f"{THIRD}/32"])
    results = reach(
        sandbox,
        ["tcp", HERE, 443],
        ["udp", HERE, 443],
        ["tcp", THIRD, 22],
        ["udp", THIRD, 5000],
        ["ping", THIRD],
        ["tcp", HERE, 80],
        ["udp", HERE, 5000],
        ["ping", HERE],
        ["tcp", OTHER, 443],
    )
    assert [result is True for result in results] == [True] * 5 + [False] * 4, results


def test_the_most_specific_entry_decides(sandbox, internet):
    policy(sandbox, allow_out=["203.0.113.0/24", f"{OTHER}:443"], deny_out=[OTHER, "203.0.113.8/30:22"])
    results = reach(
        sandbox,
        ["tcp", HERE, 80],
        ["tcp", OTHER, 443],
        ["tcp", "203.0.113.9", 80],
        ["tcp", OTHER, 80],
        ["tcp", "203.0.113.9", 22],
        ["ping", OTHER],
    )
    assert [result is True for result in results] == [True, True, True, False, False, False], results
    policy(sandbox, allow_internet_access=True, deny_out=["198.51.100.0/24", "203.0.113.7:443"])
    results = reach(sandbox, ["tcp", HERE, 80], ["tcp", HERE, 443], ["tcp", THIRD, 80], ["ping", THIRD])
    assert [result is True for result in results] == [True, False, False, False], results


def test_a_long_policy_is_decided_like_a_short_one(sandbox, internet):
    """More entries than stand as single rules: sets of intervals."""
    filler = [f"192.0.2.{number}:{443 + number}" for number in range(64, 128)]
    policy(sandbox, allow_out=["203.0.113.0/24", *filler], deny_out=[f"{OTHER}:443", f"{HERE}:22", "203.0.113.10"])
    results = reach(
        sandbox,
        ["tcp", HERE, 443],
        ["tcp", HERE, 80],
        ["tcp", OTHER, 22],
        ["ping", HERE],
        ["udp", OTHER, 5000],
        ["tcp", OTHER, 443],
        ["tcp", HERE, 22],
        ["tcp", "203.0.113.10", 80],
        ["ping", "203.0.113.10"],
        ["tcp", THIRD, 80],
    )
    assert [result is True for result in results] == [True] * 5 + [False] * 5, results


def test_names_are_asked_in_one_place_only(sandbox, internet):
    policy(sandbox, allow_internet_access=True)
    results = reach(
        sandbox,
        ["tcp", HERE, 443],
        ["udp", HERE, 443],
        ["udp", HERE, 53],
        ["tcp", HERE, 53],
        ["tcp", HERE, 853],
        ["udp", HERE, 853],
    )
    assert [result is True for result in results] == [True, True, False, False, False, False], results


def test_only_known_protocols_and_own_addresses_leave(sandbox, internet):
    policy(sandbox, allow_internet_access=True)
    script = (
        "import socket\n"
        "for number in (47, 50, 133, 253):\n"
        "    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, number)\n"
        f"    raw.sendto(b'tunnel', ('{HERE}', 0))\n"
    )
    counter = "cat /proc/net/snmp | awk '/^Ip:/ {n++; if (n == 2) print $8}'"
    before = int(internet.inside("sh", "-c", counter))
    sandbox.data.check(f"python3 -c \"{script}\"", user="root")
    mark = secrets.token_hex(6)
    reach(
        sandbox,
        ["spoof", HERE, 5000, f"forged-{mark}", "10.1.2.3"],
        ["send", "2001:db8::1", 5000, f"six-{mark}"],
        ["send", HERE, 5000, f"last-{mark}"],
    )
    internet.await_line(f"last-{mark}")
    assert not [line for line in internet.seen() if f"forged-{mark}" in line]
    assert int(internet.inside("sh", "-c", counter)) == before, "no packet of an unknown protocol has come"


def test_another_ethernet_address_is_not_taken(sandbox):
    """Root in the sandbox has no right to configure its interface; see also the filter's rules."""
    refused = sandbox.data.bash("ip link set dev eth0 address 02:00:00:00:00:01", user="root")
    assert refused.exit_code != 0 and b"not permitted" in refused.stderr, refused


# --- names ---


def test_http_and_tls_by_name(sandbox, internet):
    """As programs do it: the name is looked up, then asked for in the handshake."""
    internet.add("web.sandbox.localhost", HERE)
    policy(sandbox, allow_out=["web.sandbox.localhost:8443", "web.sandbox.localhost:80"])
    sandbox.data.upload("/tmp/ca.pem", (sandbox.stack.root / "tls" / "ca.pem").read_bytes())
    script = (
        "import http.client as client, ssl\n"
        "trusted = ssl.create_default_context(cafile='/tmp/ca.pem')\n"
        "name = 'web.sandbox.localhost'\n"
        "for one in client.HTTPConnection(name, 80), client.HTTPSConnection(name, 8443, context=trusted):\n"
        "    one.request('GET', '/')\n"
        "    print(one.getresponse().read().decode(), end='')\n"
    )
    assert sandbox.data.check(f'python3 -c "{script}"') == "here\nhere\n"
    policy(sandbox, allow_out=["web.sandbox.localhost:80"])
    assert not reaches(sandbox, "tcp", HERE, 8443)


def test_an_allowed_name_opens_its_addresses(sandbox, internet):
    internet.add("api.example.com", HERE, OTHER)
    internet.add("other.example.com", THIRD)
    policy(sandbox, allow_out=["api.example.com:443"])
    assert not reaches(sandbox, "tcp", HERE, 443), "nobody has asked for it yet"
    allowed, refused, six, text = ask(
        sandbox, ["A", "API.example.com"], ["A", "other.example.com"], ["AAAA", "api.example.com"], ["TXT", "api.example.com"]
    )
    assert sorted(addresses(allowed)) == [HERE, OTHER]
    assert refused["rcode"] == REFUSED and not refused["answers"]
    assert six["rcode"] == 0 and not six["answers"]
    assert text["rcode"] == REFUSED
    results = reach(
        sandbox, ["tcp", "api.example.com", 443], ["tcp", HERE, 443], ["tcp", HERE, 80], ["udp", HERE, 443], ["tcp", THIRD, 443]
    )
    assert [result is True for result in results] == [True, True, False, False, False], results
    assert not [line for line in internet.asked() if "other.example.com" in line or "TXT api" in line]


def test_the_address_is_open_before_the_answer_leaves(sandbox, internet):
    names = [f"n{number}.fast.example.com" for number in range(8)]
    for number, name in enumerate(names):
        internet.add(name, f"192.0.2.{7 + number % 5}")
    policy(sandbox, allow_out=["*.fast.example.com"])
    results = reach(sandbox, *[["tcp", name, 80] for name in names])
    assert results == [True] * len(names), results


def test_aliases_are_followed_and_their_ends_opened(sandbox, internet):
    internet.add("www.example.com", CNAME=[["edge.example.net", 60]])
    internet.add("edge.example.net", CNAME=[["pop.example.org", 60]], partial=True)
    internet.add("pop.example.org", THIRD)
    internet.add("bad.example.com", CNAME=[["denied.example.net", 60]])
    internet.add("denied.example.net", OTHER)
    policy(sandbox, allow_out=["*.example.com"], deny_out=["*.example.net"])
    bad, good = ask(sandbox, ["A", "bad.example.com"], ["A", "www.example.com"])
    assert bad["rcode"] == REFUSED and good["rcode"] == REFUSED, "their aliases are denied"
    policy(sandbox, allow_out=["*.example.com"])
    (good,) = ask(sandbox, ["A", "www.example.com"])
    assert [kind for kind, _, _ in good["answers"]] == ["CNAME", "CNAME", "A"], good
    assert reaches(sandbox, "tcp", THIRD, 80)
    assert ask(sandbox, ["A", "edge.example.net"])[0]["rcode"] == REFUSED, "by itself it is not allowed"


def test_no_answer_leads_into_a_protected_network(sandbox, internet):
    internet.add("rebind.example.com", "169.254.169.254")
    internet.add("private.example.com", "10.1.2.3")
    internet.add("mixed.example.com", "127.0.0.1", HERE, "192.168.1.1")
    for access in (False, True):
        policy(sandbox, allow_internet_access=access, allow_out=["*.example.com"])
        first, second, mixed = ask(
            sandbox, ["A", "rebind.example.com"], ["A", "private.example.com"], ["A", "mixed.example.com"]
        )
        assert first["rcode"] == REFUSED and not first["answers"], first
        assert second["rcode"] == REFUSED and not second["answers"], second
        assert addresses(mixed) == [HERE], mixed


def test_answers_hold_for_their_time(sandbox, internet):
    internet.add("short.example.com", HERE, ttl=9)
    policy(sandbox, allow_out=["short.example.com"])
    (answer,) = ask(sandbox, ["A", "short.example.com"])
    assert 0 < answer["answers"][0][2] <= 9
    held = Flow(sandbox, "tcp", "active", HERE, 5000)
    time.sleep(13)
    assert reaches(sandbox, "tcp", HERE, 80), "curl and browsers use an address for a minute"
    wait_until(lambda: not reaches(sandbox, "tcp", HERE, 80), 90, "the end of the answer's time", 0.5)
    held.assert_goes_on()
    assert reaches(sandbox, "tcp", "short.example.com", 80), "a fresh answer opens it again"
    held.assert_goes_on()
    policy(sandbox, allow_out=["other.example.com"])
    assert held.await_end() == "reset"


def test_a_denied_name_is_not_reached_by_its_address(sandbox, internet):
    internet.add("denied.example.com", OTHER)
    internet.add("twin.example.com", OTHER)
    policy(sandbox, allow_internet_access=True, deny_out=["denied.example.com"])
    assert ask(sandbox, ["A", "denied.example.com"])[0]["rcode"] == REFUSED
    assert not reaches(sandbox, "tcp", OTHER, 80)
    assert reaches(sandbox, "tcp", HERE, 80)
    policy(sandbox, allow_out=["twin.example.com", "203.0.113.0/24"], deny_out=["denied.example.com:80"])
    ask(sandbox, ["A", "twin.example.com"])
    results = reach(sandbox, ["tcp", OTHER, 443], ["tcp", OTHER, 80], ["tcp", HERE, 80])
    assert [result is True for result in results] == [True, False, True], "of two names of an address the denied one counts"


def test_names_over_tcp_and_large_answers(sandbox, internet):
    internet.add("large.example.com", *[f"198.51.100.{number}" for number in range(100, 140)])
    internet.add("cut.example.com", HERE, truncate=True)
    policy(sandbox, allow_out=["*.example.com"])
    (cut,) = ask(sandbox, ["A", "cut.example.com"])
    assert addresses(cut) == [HERE], "asked again over TCP"
    (small,) = ask(sandbox, ["A", "large.example.com"])
    assert small["truncated"] and not small["answers"]
    (whole,) = ask(sandbox, ["A", "large.example.com"], transport="tcp")
    assert len(addresses(whole)) == 40
    assert reaches(sandbox, "tcp", "large.example.com", 80) is False, "nobody is there, but it was tried"


def test_a_name_that_is_not_there(sandbox, internet):
    policy(sandbox, allow_out=["*.example.com"])
    assert ask(sandbox, ["A", "nowhere.example.com"])[0]["rcode"] == NXDOMAIN
    internet.add("silent.example.com", drop=True)
    assert ask(sandbox, ["A", "silent.example.com"], transport="tcp")[0] in (None, {"rcode": 2, "answers": [], "truncated": False})


def test_a_tunnel_through_names_is_narrow(sandbox, internet):
    """Questions carry nothing out where no name is allowed, and little where a wildcard is."""
    internet.add("*.tunnel.example.com", HERE)
    internet.add("*.elsewhere.example", HERE)
    policy(sandbox, allow_out=["*.tunnel.example.com"])
    questions = [["A", f"{secrets.token_hex(20)}.tunnel.example.com"] for _ in range(300)]
    answers = ask(sandbox, *questions)
    answers += ask(sandbox, *[["A", f"{secrets.token_hex(20)}.elsewhere.example"] for _ in range(20)])
    assert all(answer and answer["rcode"] == REFUSED for answer in answers[300:])
    asked = [line for line in internet.asked() if ".tunnel." in line]
    assert 0 < len(asked) < 250, len(asked)
    assert not [line for line in internet.asked() if "elsewhere" in line]
    denials = sandbox.api.get(f"{sandbox.path}/network/denials").json()["denials"]
    assert [one for one in denials if one["kind"] == "name" and "tunnel" in one["target"] or "elsewhere" in one["target"]]
    assert len(denials) <= 64


# --- changes ---


def test_a_tightened_policy_cuts_what_it_forbids(sandbox, internet):
    policy(sandbox, allow_out=[HERE, OTHER])
    kept = Flow(sandbox, "tcp", "active", OTHER, 5000)
    active = Flow(sandbox, "tcp", "active", HERE, 5000)
    idle = Flow(sandbox, "tcp", "idle", HERE, 5001)
    datagrams = Flow(sandbox, "udp", "active", HERE, 5000)
    before = len([line for line in internet.seen() if " reset " in line])
    policy(sandbox, allow_out=[OTHER])
    assert active.await_end() == "reset"
    assert idle.await_end() == "reset", "although neither end had anything to say"
    assert datagrams.await_end()
    wait_until(
        lambda: len([line for line in internet.seen() if " reset " in line]) >= before + 2, 10, "resets outside"
    )
    kept.assert_goes_on()
    policy(sandbox)
    assert kept.await_end() == "reset"


def test_a_policy_of_another_name_cuts_flows_of_the_first(sandbox, internet):
    internet.add("one.example.com", HERE)
    internet.add("two.example.com", OTHER)
    policy(sandbox, allow_out=["one.example.com", "two.example.com"])
    ask(sandbox, ["A", "one.example.com"], ["A", "two.example.com"])
    one = Flow(sandbox, "tcp", "idle", HERE, 5000)
    two = Flow(sandbox, "tcp", "active", OTHER, 5000)
    policy(sandbox, allow_out=["two.example.com"])
    assert one.await_end() == "reset"
    two.assert_goes_on()
    assert not reaches(sandbox, "tcp", HERE, 80)
    assert reaches(sandbox, "tcp", OTHER, 80), "its answer still holds"


def test_refusals_are_listed(sandbox, internet):
    policy(sandbox, allow_out=["*.example.com"])
    reach(sandbox, ["tcp", THIRD, 4711], ["udp", THIRD, 4712])
    ask(sandbox, ["A", "www.refused.example"])

    def listed():
        denials = sandbox.api.get(f"{sandbox.path}/network/denials").json()["denials"]
        found = {(one["kind"], one["target"], one["port"], one["protocol"]) for one in denials}
        wanted = {
            ("connection", THIRD, 4711, "tcp"),
            ("connection", THIRD, 4712, "udp"),
            ("name", "www.refused.example", None, None),
        }
        return wanted <= found

    wait_until(listed, 10, "the refusals")


# --- the firewall itself ---


@pytest.mark.alone
def test_the_service_stopped_and_started(sandbox, internet, stack):
    internet.add("lasting.example.com", HERE)
    process = FirewallProcess(stack)
    policy(sandbox, allow_out=["lasting.example.com", THIRD])
    ask(sandbox, ["A", "lasting.example.com"])
    held = Flow(sandbox, "tcp", "active", HERE, 5000)
    with process.stopped():
        results = reach(sandbox, ["tcp", HERE, 80], ["tcp", THIRD, 80], ["tcp", OTHER, 80])
        assert [result is True for result in results] == [True, True, False], results
        held.assert_goes_on()
        answer = sandbox.api.request("PUT", f"{sandbox.path}/network", {"allow_internet_access": False, "allow_out": [OTHER]})
        assert answer.status == 202 and answer.json()["status"] == "pending", answer
    wait_until(lambda: reaches(sandbox, "tcp", OTHER, 80), 30, "the policy that was pending", 0.3)
    assert held.await_end() == "reset"
    assert not reaches(sandbox, "tcp", THIRD, 80)


@pytest.mark.alone
def test_policies_and_answers_outlive_the_service(sandbox, internet, stack):
    internet.add("lasting.example.com", HERE)
    policy(sandbox, allow_out=["lasting.example.com"])
    ask(sandbox, ["A", "lasting.example.com"])
    held = Flow(sandbox, "tcp", "active", HERE, 5000)
    FirewallProcess(stack).restart()
    assert reaches(sandbox, "tcp", HERE, 80), "the answer from before"
    held.assert_goes_on()
    assert not reaches(sandbox, "tcp", OTHER, 80)


@pytest.mark.alone
def test_a_host_that_lost_everything_is_filled_again(sandbox, internet, stack):
    """As after a reboot: the base table closes every sandbox, the dispatcher brings the policies."""
    policy(sandbox, allow_out=[HERE])
    assert reaches(sandbox, "tcp", HERE, 80)
    process = FirewallProcess(stack)
    with process.stopped():
        process.forget()
        process.load_network()
        assert not reaches(sandbox, "tcp", HERE, 80), "closed before anyone has applied anything"
    wait_until(lambda: reaches(sandbox, "tcp", HERE, 80), 60, "the policy again", 0.5)


@pytest.mark.alone
def test_the_table_loaded_anew_while_the_service_runs(sandbox, internet, stack):
    policy(sandbox, allow_out=[HERE])
    held = Flow(sandbox, "tcp", "active", HERE, 5000)
    FirewallProcess(stack).load_network()
    wait_until(lambda: reaches(sandbox, "tcp", HERE, 80), 20, "the policy again", 0.3)
    held.assert_goes_on()


def test_the_policy_holds_over_pause_and_resume(sandbox, internet):
    policy(sandbox, allow_out=[HERE])
    sandbox.pause()
    sandbox.resume()
    results = reach(sandbox, ["tcp", HERE, 80], ["tcp", OTHER, 80])
    assert [result is True for result in results] == [True, False], results


def test_previews_close_with_allow_public_traffic(module_account, internet):
    sandbox = Sandbox.create(
        module_account.api, timeout=300, exposed_ports=[{"port": 8000, "protocol": "http", "public": True}]
    )
    sandbox.data.background("python3", "-m", "http.server", "8000")
    preview = sandbox.preview(8000)
    wait_until(lambda: preview.request("GET", "/").status == 200, 20, "the preview")
    answer = sandbox.api.request("PATCH", sandbox.path, {"allow_public_traffic": False})
    assert answer.status == 200, answer
    wait_until(lambda: preview.request("GET", "/").status == 401, 10, "a closed preview")
