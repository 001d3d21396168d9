# SPDX-License-Identifier: GPL-2.0-or-later
"""OpenStack Swift with its interface of S3 (s3api) in one process: proxy, account, container and object
server over a folder. Usage: server.py FOLDER PORT ID SECRET; it says "ready" when it serves.

The file FOLDER/full, while it is there, lets every write end in 507, as a full disk does."""

import eventlet

eventlet.monkey_patch()

import os
import sys

import eventlet.wsgi
from swift.common import utils

utils.HASH_PATH_SUFFIX = b"test"
utils.HASH_PATH_PREFIX = b""

from paste.deploy import loadapp
from swift.account.server import AccountController
from swift.common.ring.builder import RingBuilder
from swift.container.server import ContainerController
from swift.obj.server import ObjectController

FOLDER, PORT, KEY, SECRET = sys.argv[1], int(sys.argv[2]), *sys.argv[3:5]


class Cache:
    """What tempauth wants of memcached."""

    def __init__(self):
        self.values = {}

    def get(self, key, *_, **__):
        return self.values.get(key)

    def set(self, key, value, *_, **__):
        self.values[key] = value

    def delete(self, key, *_, **__):
        self.values.pop(key, None)

    def incr(self, key, delta=1, *_, **__):
        self.values[key] = int(self.values.get(key, 0)) + delta
        return self.values[key]


class Front:
    """In front of the proxy: gives it the cache, and a full disk."""

    def __init__(self, app):
        self.app, self.cache = app, Cache()

    def __call__(self, env, start_response):
        env["swift.cache"] = self.cache
        if env["REQUEST_METHOD"] in ("PUT", "POST") and os.path.exists(f"{FOLDER}/full"):
            while env["wsgi.input"].read(65536):
                pass
            start_response("507 Insufficient Storage", [("Content-Length", "0")])
            return [b""]
        return self.app(env, start_response)


def serve(app, port):
    eventlet.spawn(eventlet.wsgi.server, eventlet.listen(("127.0.0.1", port)), app, open(os.devnull, "w"))


def serve_storage():
    conf = {"devices": f"{FOLDER}/srv", "mount_check": "false", "swift_dir": FOLDER, "bind_ip": "127.0.0.1",
            "fallocate_reserve": "0", "disable_fallocate": "true", "log_address": f"{FOLDER}/log"}
    os.makedirs(f"{FOLDER}/srv/disk", exist_ok=True)
    for name, controller in (("account", AccountController), ("container", ContainerController), ("object", ObjectController)):
        listener = eventlet.listen(("127.0.0.1", 0))
        port = listener.getsockname()[1]
        eventlet.spawn(eventlet.wsgi.server, listener, controller(conf), open(os.devnull, "w"))
        builder = RingBuilder(1, 1, 0)
        builder.add_dev({"id": 0, "region": 1, "zone": 1, "ip": "127.0.0.1", "port": port, "device": "disk", "weight": 1,
                         "replication_ip": "127.0.0.1", "replication_port": port})
        builder.rebalance()
        builder.get_ring().save(f"{FOLDER}/{name}.ring.gz")


def proxy():
    path = f"{FOLDER}/proxy.conf"
    with open(path, "w", encoding="utf-8") as conf:
        conf.write(f"""[DEFAULT]
swift_dir = {FOLDER}
log_address = {FOLDER}/log
[pipeline:main]
pipeline = catch_errors gatekeeper listing_formats bulk s3api tempauth slo dlo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
[filter:tempauth]
use = egg:swift#tempauth
user_{KEY.replace(":", "_")} = {SECRET} .admin
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
[filter:slo]
use = egg:swift#slo
[filter:dlo]
use = egg:swift#dlo
[filter:bulk]
use = egg:swift#bulk
[filter:listing_formats]
use = egg:swift#listing_formats
[filter:gatekeeper]
use = egg:swift#gatekeeper
[filter:catch_errors]
use = egg:swift#catch_errors
""")
    return loadapp(f"config:{path}")


serve_storage()
app = Front(proxy())
serve(app, PORT)
print("ready", flush=True)
while True:
    eventlet.sleep(3600)
