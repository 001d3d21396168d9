# SPDX-License-Identifier: GPL-2.0-or-later
"""Names of query parameters, headers and fields that a call does not have, or that come twice."""

from agent_case import AgentTest, quote

OURS = {"X-Request-Id": "abc"}


class Names(AgentTest):
    def refused(self, reply, field):
        self.assertIn(field.lstrip("/"), self.error(reply, 400))
        reply.close()

    def named(self, method, path, field, body=b"", headers=None):
        """At an address of ours the error names the input."""
        reply = self.agent.send(method, path, body, {**OURS, **(headers or {})})
        self.assertEqual(reply.status, 400)
        said = reply.json()
        self.assertEqual((said["error"], said["field"]), ("invalid_request", field), said)
        reply.close()

    def test_unknown_parameters(self):
        path = "/files?path=" + quote("/etc/passwd")
        for query, field in (("&usernam=root", "usernam"), ("&Username=root", "Username"), ("&x", "x"), ("&=", "")):
            reply = self.agent.send("GET", path + query)
            self.assertEqual(reply.status, 200, query)
            reply.close()
            if field:
                self.named("GET", path + query, field)
        said = self.agent.send("GET", path + "&usernam=root", b"", OURS).json()
        self.assertEqual(said["message"], "this call has no query parameter usernam; is username meant?")
        for method, path in (("GET", "/health"), ("GET", "/metrics"), ("POST", "/exec"), ("POST", "/process.Process/List")):
            refused = self.agent.send(method, path + "?a=b", b"", {**OURS, "Content-Type": "application/json"})
            self.assertEqual((refused.status, refused.json()["field"]), (400, "a"), path)
            refused.close()
        self.named("POST", "/files?path=/x&download=1", "download", b"x", {"Content-Type": "application/octet-stream"})

    def test_paths(self):
        octets = {"Content-Type": "application/octet-stream"}
        for path in (self.folder, "/dev/null", "~none", "/" + "x" * 5000):
            self.named("GET", "/files?path=" + quote(path), "path")
        self.named("POST", "/files?path=", "path", b"x", octets)
        self.named("POST", "/files?path=~none", "path", b"x", octets)

    def test_parameters_that_come_twice(self):
        for query, field in (("path=/etc/passwd&path=/etc/group", "path"), ("path=/etc/passwd&PATH=/etc/group", "path"),
                             ("path=/etc/passwd&username=root&username=", "username")):
            self.refused(self.agent.send("GET", "/files?" + query), field)
        self.named("GET", "/files?path=/etc/passwd&path=/etc/passwd", "path")
        self.agent.send("GET", "/files?path=/etc/passwd&x=1&x=1").close()

    def test_headers_that_come_twice(self):
        for name, value in (("Content-Type", "application/json"), ("If-Match", "*"), ("Range", "bytes=0-0"),
                            ("Connect-Timeout-Ms", "1000")):
            self.refused(self.agent.send("GET", "/files?path=/etc/passwd", b"", {name: value, name.lower(): value}), name)
            self.named("GET", "/files?path=/etc/passwd", name, b"", {name: value, name.upper(): value})
        twice = {"Content-Type": "application/octet-stream", "X-Metadata-A": "1", "x-metadata-a": "2"}
        self.refused(self.agent.send("POST", "/files?path=" + quote(self.folder + "/a"), b"x", twice), "x-metadata-a")
        reply = self.agent.send("GET", "/files?path=/etc/passwd", b"", {"Accept": "*/*", "accept": "*/*"})
        self.assertEqual(reply.status, 200)
        reply.close()

    def test_unknown_fields(self):
        json = {"Content-Type": "application/json"}
        body = b'{"source_paths": ["/none"], "destination": "/none/b", "sources": []}'
        self.named("POST", "/files/compose", "/sources", body, json)
        self.error(self.agent.send("POST", "/files/compose", body, json), 404)
        self.named("POST", "/hold", "/second", b'{"seconds": 1, "second": 2}', json)
        for field, value in (("env", b"{}"), ("cwd", b'"/none"'), ("cwd", b'"~none"'), ("envs", b'{"a=b": ""}'),
                             ("envs", b'{"a": 1}')):
            self.named("POST", "/exec", "/" + field, b'{"cmd": "true", "%s": %s}' % (field.encode(), value), json)
        self.named("POST", "/exec", "/cmd", b'{"cmd": "/none", "args": []}', json)
        self.named("POST", "/exec", "/args", b'{"cmd": "true", "args": ["%s"]}' % (b"x" * 131072), json)
        listed = self.agent.send("POST", "/process.Process/List", b'{"unknown": 1}', {**OURS, **json})
        self.assertEqual(listed.status, 200)
        listed.close()

    def test_bodies_without_fields(self):
        """null is no body, also of a call that needs fields, and [] is an empty object."""
        json = {"Content-Type": "application/json"}
        for body in (b"null", b"[]", b"{}", b""):
            listed = self.agent.send("POST", "/process.Process/List", body, json)
            self.assertEqual(listed.status, 200, body)
            self.assertEqual(listed.json(), {"processes": []})
            listed.close()
            self.named("POST", "/exec", "/cmd", body, json)
            self.named("POST", "/hold", "/seconds", body, json)
            self.assertIn("destination", self.error(self.agent.send("POST", "/files/compose", body, json), 400))
        for body in (b"1", b'"a"', b"[1]", b"true"):
            self.assertIn("JSON object", self.error(self.agent.send("POST", "/exec", body, json), 400))
