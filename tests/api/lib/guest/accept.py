# SPDX-License-Identifier: GPL-2.0-or-later
"""accept.py PORT: takes any number of connections and holds them until their other end closes."""

import resource
import selectors
import socket
import sys

_, most = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
selector = selectors.DefaultSelector()
listener = socket.create_server(("", int(sys.argv[1])), backlog=4096)
selector.register(listener, selectors.EVENT_READ)
while True:
    for key, _ in selector.select():
        if key.fileobj is listener:
            selector.register(listener.accept()[0], selectors.EVENT_READ)
            continue
        try:
            over = not key.fileobj.recv(4096)
        except OSError:
            over = True
        if over:
            selector.unregister(key.fileobj)
            key.fileobj.close()
