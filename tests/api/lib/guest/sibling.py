# SPDX-License-Identifier: GPL-2.0-or-later
"""A web application, and the page of a hostile one: sibling.py PORT DOMAIN.

GET  /log            requests so far, a line each: method, path, Cookie
GET  /toss           sets cookies for DOMAIN, in all spellings
GET  /attack?ORIGIN  a page that asks ORIGIN in its visitor's name, in every way a page can
GET  /link?URL       a page that leads there
GET  /own            a page that asks its own server: a POST, a form and a WebSocket
GET  /socket         WebSocket handshake
anything else        a line of text
"""

import base64
import hashlib
import http.server
import sys
import threading

PORT, DOMAIN = int(sys.argv[1]), sys.argv[2]
MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TOSSED = [
    f"{name}=evil; {attribute}"
    for name in ("sandlot_access_token", "__Host-sandlot_access_token", "sid")
    for attribute in (f"Domain={DOMAIN}; Path=/; Secure", f"domain=.{DOMAIN}; path=/; secure",
                      f"DOMAIN = {DOMAIN.upper()} ; Path=/", f"Path=/; Domain=x; Domain={DOMAIN}")
]
TOSSED[:0] = ["own=1; Path=/"]

ACTS = """
const post = o => fetch(o + "/ATTACK-post", {method: "POST", mode: "no-cors", credentials: "include", body: "x"});
const get = o => fetch(o + "/ATTACK-get", {mode: "no-cors", credentials: "include"});
const put = o => fetch(o + "/ATTACK-put", {method: "PUT", credentials: "include", headers: {"X-A": "1"}});
const form = o => new Promise(done => {
  const frame = document.createElement("iframe");
  frame.name = "target";
  document.body.append(frame);
  const form = document.body.appendChild(document.createElement("form"));
  form.action = o + "/ATTACK-form"; form.method = "POST"; form.target = frame.name;
  setTimeout(() => { frame.onload = done; form.submit(); }, 300);  // behind the empty page's own load
  setTimeout(done, 8000);
});
const image = o => new Promise(done => {
  const image = new Image(); image.onload = image.onerror = done; image.src = o + "/ATTACK-image";
});
const socket = o => new Promise(done => {
  const socket = new WebSocket(o.replace("https", "wss") + "/socket");
  socket.onopen = () => done("open"); socket.onerror = () => done("closed");
});
async function all(o) {
  const seen = [];
  for (const act of [post, get, put, form, image, socket]) {
    let result;
    try { result = await act(o); } catch (error) { result = "failed"; }
    seen.push(act.name + "=" + (result && result.status !== undefined ? result.status : result));
  }
  document.body.append("done " + seen.join(" "));
}
"""

log = []
lock = threading.Lock()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, text, kind="text/plain", cookies=()):
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", kind)
        for cookie in cookies:
            self.send_header("Set-Cookie", cookie)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def page(self, call):
        self.answer(f"<!doctype html><body><script>{ACTS}{call}</script>", "text/html")

    def socket(self):
        accept = hashlib.sha1(self.headers["Sec-WebSocket-Key"].encode() + MAGIC).digest()
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", base64.b64encode(accept).decode())
        self.end_headers()
        self.rfile.read(2)
        self.close_connection = True

    def handle_any(self):
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, argument = self.path.partition("?")
        if path == "/log":
            return self.answer("".join(log))
        with lock:
            log.append(f"{self.command} {path} {self.headers.get('Cookie')}\n")
        if path == "/toss":
            return self.answer("tossed", cookies=TOSSED)
        if path == "/attack":
            return self.page(f'all("{argument}")')
        if path == "/own":
            return self.page("all(location.origin)")
        if path == "/link":
            return self.page(f'location.href = "{argument}"')
        if path == "/socket":
            return self.socket()
        return self.answer(f"the application answers {self.command} {path}")

    do_GET = do_POST = do_PUT = do_DELETE = handle_any


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True


Server(("0.0.0.0", PORT), Handler).serve_forever()
