# SPDX-License-Identifier: GPL-2.0-or-later
"""kept_requests.py HOST FILE: requests on one connection until one is refused, and the status of each as a line."""

import http.client
import sys
import time

connection = http.client.HTTPSConnection(sys.argv[1])
connection.connect()
kept = connection.sock
for _ in range(300):
    connection.request("GET", "/")
    answer = connection.getresponse()
    answer.read()
    with open(sys.argv[2], "a", encoding="ascii") as log:
        log.write(f"{answer.status if connection.sock is kept else 'closed'}\n")
    if answer.status == 403:
        break
    time.sleep(0.2)
