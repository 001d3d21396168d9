# SPDX-License-Identifier: GPL-2.0-or-later
"""kept_tls.py HOST COUNT FILE: so many connections at once, each with an answered request and then idle. Writes how many
there are to FILE, and keeps them."""

import http.client
import sys
import time

host, count, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
kept = []
for _ in range(count):
    connection = http.client.HTTPSConnection(host, timeout=60)
    try:
        connection.connect()
    except ConnectionError:
        continue
    kept.append(connection)
    connection.request("GET", "/")
    assert connection.getresponse().read()
with open(path, "w", encoding="ascii") as log:
    log.write(f"{len(kept)}\n")
time.sleep(3600)
