# SPDX-License-Identifier: GPL-2.0-or-later
"""What a request may say, and how a wrong one is refused."""

import http.client
import json
import os

import pytest

from client import Origin, assert_error
from stack import wait_until

pytestmark = pytest.mark.parallel


@pytest.fixture(scope="module")
def api(module_account):
    return module_account.api


def refused(api, body, field, code="invalid_request"):
    answer = assert_error(api.post("/v1/sandboxes", body), 422, code, field)
    return answer["message"]


# --- the edges of every field ---


def test_everything_at_its_edge_is_accepted(make_account):
    api = make_account().api
    ports = [1, 65535, *range(3000, 3098)]
    fields = {
        "timeout": 3600,
        "metadata": {f"{number:064d}": "v" * 512 for number in range(64)},
        # Counted as a process gets them: NAME=VALUE and the byte that ends it.
        "envs": {"_": "", "a9_Z": "€", "LONG": "x" * (65536 - len("_=.a9_Z=...LONG=..") - 1)},
        "exposed_ports": [{"port": port, "protocol": "http", "public": True} for port in ports],
        "lifecycle": {
            "on_timeout": "pause", "auto_resume": True, "pause_memory": False, "on_pause_failure": "keep_running",
            "idle_timeout": 31536000, "idle_connections": "ignore"},
        "volume_mounts": {},
        "allow_out": [f"host-{number}.example:443" for number in range(256)],
        "deny_out": [f"10.{number}.0.0/16" for number in range(256)],
    }
    document = api.create(**fields)
    assert document["timeout"] == 3600
    assert document["metadata"] == fields["metadata"]
    assert document["exposed_ports"] == sorted(fields["exposed_ports"], key=lambda one: one["port"])
    assert document["lifecycle"] == fields["lifecycle"]


ONE_BEYOND = [
    ({"timeout": 0}, "/timeout"),
    ({"timeout": -1}, "/timeout"),
    ({"timeout": 3601}, "/timeout"),
    ({"timeout": 10**18}, "/timeout"),
    ({"timeout": 10**30}, "/timeout"),
    ({"timeout": 10**400}, "/timeout"),
    ({"timeout": 1.5}, "/timeout"),
    ({"timeout": "60"}, "/timeout"),
    ({"timeout": True}, "/timeout"),
    ({"team": 5}, "/team"),
    ({"template": ["python"]}, "/template"),
    ({"lifecycle": "kill"}, "/lifecycle"),
    ({"lifecycle": {"on_timeout": "stop"}}, "/lifecycle/on_timeout"),
    ({"lifecycle": {"auto_resume": "yes", "on_timeout": "pause"}}, "/lifecycle/auto_resume"),
    ({"lifecycle": {"auto_resume": True}}, "/lifecycle/auto_resume"),
    ({"lifecycle": {"on_pause_failure": "kill"}}, "/lifecycle/on_pause_failure"),
    ({"lifecycle": {"on_pause_failure": True}}, "/lifecycle/on_pause_failure"),
    ({"lifecycle": {"auto_resume": True, "on_timeout": "kill"}}, "/lifecycle/auto_resume"),
    ({"auto_pause": 1}, "/auto_pause"),
    ({"metadata": ["a"]}, "/metadata"),
    ({"metadata": {f"k{number}": "v" for number in range(65)}}, "/metadata"),
    ({"metadata": {"a": None}}, "/metadata/a"),
    ({"metadata": {"a/b~c": None}}, "/metadata/a~1b~0c"),
    ({"metadata": {"k": "v" * 513}}, "/metadata/k"),
    ({"envs": ["a"]}, "/envs"),
    ({"envs": {"A": 1}}, "/envs/A"),
    ({"envs": {"A": None}}, "/envs/A"),
    ({"envs": {"A": "a\0b"}}, "/envs/A"),
    ({"envs": {"": "x"}}, None),
    ({"envs": {"A=B": "x"}}, "/envs/A=B"),
    ({"envs": {"A\tB": "x"}}, "/envs/A\tB"),
    ({"envs": {"A B": "x"}}, "/envs/A B"),
    ({"envs": {"A": "x" * 65537}}, None),
    ({"envs": {f"A{n}": "x" * 1024 for n in range(64)}}, "/envs"),
    ({"volume_mounts": ["a"]}, "/volume_mounts"),
    ({"exposed_ports": {}}, "/exposed_ports"),
    ({"exposed_ports": [3000]}, "/exposed_ports/0"),
    ({"exposed_ports": [{"protocol": "http"}]}, None),
    ({"exposed_ports": [{"port": 0}]}, "/exposed_ports/0/port"),
    ({"exposed_ports": [{"port": 65536}]}, "/exposed_ports/0/port"),
    ({"exposed_ports": [{"port": "3000"}]}, "/exposed_ports/0/port"),
    ({"exposed_ports": [{"port": 3000, "protocol": "tcp"}]}, "/exposed_ports/0/protocol"),
    ({"exposed_ports": [{"port": 3000, "public": "no"}]}, "/exposed_ports/0/public"),
    ({"exposed_ports": [{"port": 3000, "name": "web"}]}, "/exposed_ports/0/name"),
    ({"exposed_ports": [{"port": 3000}, {"port": 3000}]}, None),
    ({"exposed_ports": [{"port": 3000 + n} for n in range(101)]}, "/exposed_ports"),
    ({"allow_internet_access": "false"}, "/allow_internet_access"),
    ({"allow_public_traffic": 0}, "/allow_public_traffic"),
    ({"allow_out": "example.com"}, "/allow_out"),
    ({"allow_out": [5]}, "/allow_out/0"),
    ({"deny_out": [None]}, "/deny_out/0"),
    ({"allow_out": ["a.example"] * 257}, "/allow_out"),
    ({"egress_profile": ["x"]}, "/egress_profile"),
    ({"egress_profiles": "x"}, "/egress_profiles"),
    ({"cpu": 0}, "/cpu"),
    ({"cpu": "1"}, "/cpu"),
    ({"memory_mb": -1}, "/memory_mb"),
]


def name_of(case):
    text = json.dumps(case, ensure_ascii=True)
    return text if len(text) < 60 else text[:57] + "..."


@pytest.mark.parametrize("body, field", ONE_BEYOND, ids=[name_of(body) for body, _ in ONE_BEYOND])
def test_one_beyond_the_edge_is_refused(api, body, field):
    answer = assert_error(api.post("/v1/sandboxes", body), 422, "invalid_request", field)
    assert answer["field"].startswith("/" + next(iter(body))), answer


def test_a_metadata_key_too_long(api):
    key = "k" * 65
    answer = assert_error(api.post("/v1/sandboxes", {"metadata": {key: "v"}}), 422, "invalid_request")
    assert answer["field"] in (f"/metadata/{key}", "/metadata"), answer


def test_metadata_values_become_strings(make_account):
    given = {"n": 42, "f": 1.5, "b": True, "o": {"a": [1, None]}, "s": "x", "e": ""}
    shown = make_account().api.create(metadata=given)["metadata"]
    assert shown == {"n": "42", "f": "1.5", "b": "true", "o": '{"a":[1,null]}', "s": "x", "e": ""}


# --- unknown names ---


@pytest.mark.parametrize(
    "body, field, nearest",
    [
        ({"allow_internet_acces": False}, "/allow_internet_acces", "allow_internet_access"),
        ({"time_out": 60}, "/time_out", "timeout"),
        ({"Timeout": 60}, "/Timeout", "timeout"),
        ({"env": {}}, "/env", "envs"),
        ({"lifecycle": {"on_timeut": "pause"}}, "/lifecycle/on_timeut", "on_timeout"),
        ({"exposed_ports": [{"prt": 3000}]}, "/exposed_ports/0/prt", "port"),
    ],
)
def test_unknown_members_are_refused_with_the_nearest_name(api, body, field, nearest):
    assert nearest in refused(api, body, field)


def test_unknown_members_of_the_other_calls(api, shared_sandbox):
    path = f"/v1/sandboxes/{shared_sandbox.id}"
    answer = assert_error(
        api.post(f"{path}/resume", {"timeot": 5}), 422, "invalid_request", "/timeot"
    )
    assert "timeout" in answer["message"]
    assert_error(api.post(f"{path}/resume", {"timeout": 0}), 422, "invalid_request", "/timeout")
    assert_error(api.post(f"{path}/resume", {"timeout": 3601}), 422, "invalid_request", "/timeout")
    assert_error(api.post(f"{path}/pause", {"keep": True}), 422, "invalid_request")
    assert shared_sandbox.show()["state"] == "ready"


@pytest.mark.parametrize("path", ["/v1/sandboxes?taem=x", "/v1/sandboxes/{id}?verbose=1"])
def test_unknown_query_parameters_are_refused(api, shared_sandbox, path):
    answer = assert_error(api.get(path.format(id=shared_sandbox.id)), 422, "invalid_request")
    assert answer["field"] in ("taem", "verbose")
    if "taem" in path:
        assert "team" in answer["message"]


def test_query_parameters_of_a_create_are_refused(api):
    assert_error(api.post("/v1/sandboxes?timeout=5", {}), 422, "invalid_request", "timeout")


# --- null ---


def test_null_on_create_is_no_value(make_account):
    """Clients that write each member of an object write null where they have no value."""
    api = make_account().api
    plain = api.create()
    nulls = {name: None for name in (
        "team", "template", "template_id", "snapshot_id", "timeout", "lifecycle", "auto_pause", "metadata", "envs", "hooks",
        "services", "volume_mounts", "allow_internet_access", "allow_package_registry_access", "allow_public_traffic",
        "allow_out", "deny_out", "egress_profile", "egress_profiles", "rules", "exposed_ports", "https_ports", "cpu",
        "memory_mb", "name", "mask_request_host", "expose_all_ports", "ask")}
    made = api.create(**nulls)
    own = {"id", "deadline", "data_plane_url", "created_at", "updated_at", "session"}
    assert {name: value for name, value in made.items() if name not in own} == {
        name: value for name, value in plain.items() if name not in own}
    inside = api.create(lifecycle={"on_timeout": "pause", "auto_resume": None, "idle_timeout": None},
                        exposed_ports=[{"port": 3000, "protocol": None, "public": None}])
    assert inside["lifecycle"]["auto_resume"] is False and inside["exposed_ports"][0]["protocol"] == "http"
    other = api.request("PUT", f"/v1/sandboxes/{inside['id']}/network", {"allow_internet_access": None, "allow_out": None}).json()
    assert other["allow_internet_access"] == plain["network"]["allow_internet_access"]
    json_type = {"Content-Type": "application/json"}
    assert api.post(f"/v1/sandboxes/{inside['id']}/resume", b"null", headers=json_type).status == 200


def test_null_in_a_merge_patch_removes(make_account):
    api = make_account().api
    made = api.create(name="short-lived", metadata={"a": "1", "b": "2"}, lifecycle={"on_timeout": "pause", "idle_timeout": 60})
    path = f"/v1/sandboxes/{made['id']}"
    body = {"name": None, "metadata": {"a": None}, "lifecycle": {"idle_timeout": None}}
    shown = api.request("PATCH", path, body).json()
    assert (shown["name"], shown["metadata"], shown["lifecycle"]["idle_timeout"]) == (None, {"b": "2"}, None)
    assert api.request("PATCH", path, {"metadata": None}).json()["metadata"] == {}
    for body, field in (({"timeout": None}, "/timeout"), ({"lifecycle": {"on_timeout": None}}, "/lifecycle/on_timeout")):
        assert_error(api.request("PATCH", path, body), 422, "invalid_request", field)


# --- volumes ---


@pytest.mark.parametrize("name", ["models", "Models", "-", "\u00e9", "x" * 63])
def test_a_volume_that_is_not_there(api, name):
    answer = api.post("/v1/sandboxes", {"volume_mounts": {"/a/~data": name}})
    assert_error(answer, 422, "volume_not_found", "/volume_mounts/~1a~1~0data")


@pytest.mark.parametrize(
    "path", ["data", "/", "/proc", "/proc/x", "/sys", "/dev/shm", "/run", "/run/x", "/a/../b", "/a//b",
             "/a/", "", "/.", "/..", "/a/.", "/a/..", "/usr", "/etc", "/bin", "/usr/lib/sandlot",
             "/usr/lib/sandlot/x", "/a\nb", "/a\tb", "/a\x7f", "/" + "x" * 256, "/x" * 513]
)
def test_guest_paths_of_volumes(api, path):
    answer = assert_error(
        api.post("/v1/sandboxes", {"volume_mounts": {path: "models"}}), 422, "invalid_request"
    )
    assert answer["field"].startswith("/volume_mounts"), answer


@pytest.mark.parametrize("mounts", [
    {"/a": "one", "/a/b": "two"},
    {"/a/b/c": "one", "/a": "two"},
    {f"/m{i}": "one" for i in range(17)},
])
def test_mounts_that_do_not_go_together(api, mounts):
    assert_error(api.post("/v1/sandboxes", {"volume_mounts": mounts}), 422, "invalid_request")


@pytest.mark.parametrize("mounts", [
    {"/a": "one", "/ab": "two"},
    {"/procs": "one", "/runner": "one", "/usr/local": "one", "/" + "x" * 255: "one"},
    {f"/m{i}": "one" for i in range(16)},
    {"/a b/\u00e9": "one"},
])
def test_mounts_that_fail_for_the_volume_alone(api, mounts):
    assert_error(api.post("/v1/sandboxes", {"volume_mounts": mounts}), 422, "volume_not_found")


def test_snapshots_are_refused_clearly(api):
    response = api.post("/v1/sandboxes", {"snapshot_id": "ckp_00000000000000000000000000"})
    answer = response.json()
    assert response.status == 422, response
    assert answer["error"] in ("template_not_found", "invalid_request"), answer
    assert answer["field"] == "/snapshot_id", answer


def test_two_sources_are_refused(api, stack):
    body = {"template": stack.template, "snapshot_id": "ckp_00000000000000000000000000"}
    assert_error(api.post("/v1/sandboxes", body), 422, "invalid_request")


def test_refused_creates_leave_no_trace(make_account, stack):
    account = make_account()
    for body in ({"timeout": 0}, {"deny_out": ["0.0.0.0/33"]}, {"template": "no-such"}):
        assert account.api.post("/v1/sandboxes", body).status == 422
    rows = stack.query(
        "SELECT COUNT(*) AS n FROM sandboxes JOIN teams ON teams.id = team_id WHERE slug = %s",
        account.team,
    )
    assert rows[0]["n"] == 0


# --- bodies ---


@pytest.mark.parametrize(
    "text",
    ["{", "{'a': 1}", '{"timeout": 60,}', '{"timeout": 60} x', "\x00", "nonsense", '{"timeout": NaN}'],
)
def test_what_is_no_json(api, text):
    response = api.post("/v1/sandboxes", text.encode(), headers={"Content-Type": "application/json"})
    assert_error(response, 400, "invalid_json")


@pytest.mark.parametrize("text", ["[{}]", '"x"', "5"])
def test_a_body_that_is_no_object(api, text):
    response = api.post("/v1/sandboxes", text.encode(), headers={"Content-Type": "application/json"})
    assert "must be a JSON object" in assert_error(response, 422, "invalid_request")["message"]


def test_a_member_given_twice(api):
    text = b'{"timeout": 60, "timeout": 61}'
    response = api.post("/v1/sandboxes", text, headers={"Content-Type": "application/json"})
    assert_error(response, 400, "invalid_json")


def test_bytes_that_are_no_utf8(api):
    text = b'{"metadata": {"a": "\xff\xfe"}}'
    response = api.post("/v1/sandboxes", text, headers={"Content-Type": "application/json"})
    assert_error(response, 400, "invalid_json")


def test_a_body_nested_too_deep(api):
    text = b'{"metadata":{"a":' + b"[" * 20000 + b"]" * 20000 + b"}}"
    response = api.post("/v1/sandboxes", text, headers={"Content-Type": "application/json"})
    assert response.status in (400, 422), response


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "application/jsonx", ""]
)
def test_another_content_type(api, kind):
    response = api.post("/v1/sandboxes", b"{}", headers={"Content-Type": kind})
    assert_error(response, 415, "unsupported_media_type")


def test_content_type_with_parameters(api):
    response = api.post(
        "/v1/sandboxes",
        b'{"timeout": 0}',
        headers={"Content-Type": "Application/JSON; charset=utf-8"},
    )
    assert_error(response, 422, "invalid_request", "/timeout")


def test_a_body_that_is_too_large(api, stack):
    limit = int(stack.settings.get("body_max_kib", "1024")) * 1024
    body = json.dumps({"metadata": {"a": "x" * limit}}).encode()
    headers = {"Content-Type": "application/json"}
    assert_error(api.post("/v1/sandboxes", body, headers=headers), 413, "body_too_large")
    pieces = [body[start : start + 65536] for start in range(0, len(body), 65536)]
    chunked = api.request("POST", "/v1/sandboxes", None, headers)
    assert chunked.status in (201, 415), "the same headers without a body"
    if chunked.status == 201:
        api.destroy(chunked.json()["id"])
    response = api.origin.request(
        "POST", "/v1/sandboxes", iter(pieces), {"Authorization": f"Bearer {api.key}", **headers}
    )
    assert_error(response, 413, "body_too_large")


def test_a_chunked_body_is_read(api):
    headers = {"Authorization": f"Bearer {api.key}", "Content-Type": "application/json"}
    response = api.origin.request("POST", "/v1/sandboxes", iter([b'{"time', b'out": 0}']), headers)
    assert_error(response, 422, "invalid_request", "/timeout")


# --- members that are sought elsewhere ---


@pytest.mark.parametrize("body, field, said", [
    ({"auto_resume": True}, "/auto_resume", 'did you mean "lifecycle.auto_resume"?'),
    ({"on_timeout": "pause"}, "/on_timeout", 'did you mean "lifecycle.on_timeout"?'),
    ({"autoresume": True}, "/autoresume", 'did you mean "lifecycle.auto_resume"?'),
    ({"lifecycle": {"auto_pause": True}}, "/lifecycle/auto_pause", "next to lifecycle"),
    ({"lifecycle": {"timeout": 60}}, "/lifecycle/timeout", "next to lifecycle"),
    ({"disk_gb": 20}, "/disk_gb", "plan"),
    ({"disk": 20}, "/disk", "plan"),
    ({"ports": [3000]}, "/ports", '"exposed_ports"'),
    ({"port": 3000}, "/port", '"exposed_ports"'),
    ({"exposed_port": 3000}, "/exposed_port", '"exposed_ports"'),
    ({"volumes": {}}, "/volumes", '"volume_mounts"'),
    ({"volume": "data"}, "/volume", '"volume_mounts"'),
    ({"network": {"allow_internet_access": False}}, "/network", "allow_internet_access"),
    ({"networks": {}}, "/networks", "allow_internet_access"),
    ({"environment": {}}, "/environment", '"envs"'),
    ({"timeout": 0}, "/timeout", "from 1 to the max_timeout"),
    ({"timeout": 31536001}, "/timeout", "from 1 to the max_timeout"),
])
def test_a_misplaced_member_is_told_its_place(api, body, field, said):
    assert said in refused(api, body, field)


@pytest.mark.parametrize("body, said", [
    ({"auto_resume": True}, 'did you mean "lifecycle.auto_resume"?'),
    ({"exposed_ports": []}, "PUT /v1/sandboxes/{id}/ports/{port}"),
    ({"network": {}}, "PUT /v1/sandboxes/{id}/network"),
    ({"volume_mounts": {}}, "at the create"),
])
def test_a_misplaced_member_of_an_update(shared_sandbox, body, said):
    field = "/" + next(iter(body))
    response = shared_sandbox.api.request("PATCH", shared_sandbox.path, body)
    assert said in assert_error(response, 422, "invalid_request", field)["message"]


# --- paths and methods ---


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/", "/v1/nothing", "/v1/sandboxes/", "/v4/sandboxes", "/v1/sandboxes/x/y/z"]
)
def test_paths_that_are_not_there(api, path):
    assert_error(api.get(path), 404, "not_found")


@pytest.mark.parametrize("sandbox_id", ["x", "sbx_", "sbx_%00", "..%2f..", "sbx_" + "z" * 400, "%ff"])
def test_ids_that_are_none(api, sandbox_id):
    response = api.get(f"/v1/sandboxes/{sandbox_id}")
    assert response.status in (400, 404), response
    assert_error(response, response.status, response.json()["error"])


@pytest.mark.parametrize("act", ["pause", "stop", "resume", "connect", "rollback"])
def test_acts_on_ids_that_are_none(api, act):
    body = {"checkpoint": "none"} if act == "rollback" else {}
    assert_error(api.post(f"/v1/sandboxes/%C3%A9/{act}", body), 404, "not_found")


def test_ports_that_are_none(api, shared_sandbox):
    for port in ("0", "65536", "x", "-1", "3000x", "99999999999999999999"):
        response = api.get(f"/v1/sandboxes/{shared_sandbox.id}/ports/{port}")
        assert response.status in (404, 422), (port, response)


def test_methods_that_are_not_there(api):
    response = api.request("PUT", "/v1/sandboxes", {})
    assert_error(response, 405, "method_not_allowed")
    assert {one.strip() for one in response.headers["Allow"].split(",")} >= {"GET", "POST"}
    assert_error(api.request("DELETE", "/v1/sandboxes"), 405, "method_not_allowed")


# --- the answers' frame ---


def test_every_answer_carries_a_request_id(api):
    ids = {api.get("/v1/sandboxes").headers["X-Request-Id"] for _ in range(3)}
    assert len(ids) == 3 and all(ids)


def test_nginx_s_own_errors_have_the_shape_too(stack, api):
    for name in (f"unknown.{api.origin.host}", stack.data_plane_host.split(":")[0]):
        origin = Origin(stack.ca_file, stack.base_url)
        response = origin.request("GET", "/", headers={"Host": name})
        assert_error(response, 404, "not_found")
    long_path = api.get("/v1/" + "x" * 20000)
    assert long_path.status in (400, 404, 414), long_path
    assert long_path.json()["request_id"] == long_path.headers["X-Request-Id"]


@pytest.mark.alone
@pytest.mark.parametrize("pool, method", [("records", "GET"), ("api", "POST")])
def test_a_pool_that_is_gone(stack, api, pool, method):
    """The socket of a pool is away for a moment: the answer keeps the shape, then all is well."""
    path = stack.settings[f"{pool}_socket"]
    os.rename(path, path + ".away")
    try:
        response = api.request(method, "/v1/sandboxes", {"timeout": 0} if method == "POST" else None)
    finally:
        os.rename(path + ".away", path)
    assert response.status in (502, 503), response
    body = assert_error(response, response.status, response.json()["error"])
    assert body["error"] in ("runtime_unavailable", "internal")
    wait_until(
        lambda: api.request(method, "/v1/sandboxes", {"timeout": 0} if method == "POST" else None).status
        in (200, 422),
        10,
        "the pool being back",
    )


@pytest.mark.alone
def test_the_gate_s_pool_being_gone(stack, shared_sandbox):
    path = stack.settings["gate_socket"]
    os.rename(path, path + ".away")
    try:
        response = shared_sandbox.data.download("/etc/passwd")
    finally:
        os.rename(path + ".away", path)
    assert response.status in (502, 503), response
    assert_error(response, response.status, response.json()["error"])
    wait_until(
        lambda: shared_sandbox.data.download("/etc/passwd").status == 200, 10, "the gate being back"
    )


@pytest.mark.parametrize("host, headers, expected", [
    ("api.sandbox.localhost", {}, 308), (f"p3000-{'a' * 26}.sandbox.localhost", {}, 308),
    ("api.sandbox.localhost", {"Authorization": "Bearer slk_x"}, 400), ("example.com", {}, 404)])
def test_plain_http_on_the_port_of_https(stack, host, headers, expected):
    """A server in a sandbox that redirects by a whole address may name http and this port."""
    origin = Origin(stack.ca_file, stack.base_url)
    connection = http.client.HTTPConnection("127.0.0.1", origin.port, timeout=10)
    connection.request("GET", "/v1/a%20b?c", headers={"Host": f"{host}:{origin.port}", **headers})
    answer = connection.getresponse()
    location = f"https://{host}:{origin.port}/v1/a%20b?c" if expected == 308 else None
    assert (answer.status, answer.headers["Location"]) == (expected, location)
    connection.close()


def test_a_head_request_has_no_body(api):
    response = api.request("HEAD", "/v1/sandboxes")
    assert (response.status, response.body) == (200, b"")
