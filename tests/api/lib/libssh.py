# SPDX-License-Identifier: GPL-2.0-or-later
"""What OpenSSH's client has no word for, by libssh's: a signal to a command."""

import ctypes

OK = 0
HOST, PORT_STR, USER = 0, 2, 4


def library():
    libssh = ctypes.CDLL("libssh.so.4")
    for name in ("ssh_new", "ssh_channel_new"):
        getattr(libssh, name).restype = ctypes.c_void_p
    libssh.ssh_get_error.restype = ctypes.c_char_p
    return libssh


class Command:
    """A command whose end is waited for on leaving; status and output are there then."""

    def __init__(self, ssh, who, command):
        self.libssh = library()
        self.session = ctypes.c_void_p(self.libssh.ssh_new())
        self.channel = None
        key = ctypes.c_void_p()
        for option, value in ((HOST, "127.0.0.1"), (PORT_STR, ssh.settings["port"]), (USER, who)):
            self.check(self.libssh.ssh_options_set(self.session, option, value.encode()))
        self.check(self.libssh.ssh_connect(self.session))
        self.check(self.libssh.ssh_pki_import_privkey_file(bytes(ssh.identity), None, None, None, ctypes.byref(key)))
        self.check(self.libssh.ssh_userauth_publickey(self.session, None, key))
        self.libssh.ssh_key_free(key)
        self.channel = ctypes.c_void_p(self.libssh.ssh_channel_new(self.session))
        self.check(self.libssh.ssh_channel_open_session(self.channel))
        self.check(self.libssh.ssh_channel_request_exec(self.channel, command.encode()))

    def check(self, result):
        assert result == OK, (result, self.libssh.ssh_get_error(self.session))

    def line(self):
        """The next line of its output; "" when there is no more within a minute."""
        said, one = b"", ctypes.create_string_buffer(1)
        while not said.endswith(b"\n") and self.libssh.ssh_channel_read_timeout(self.channel, one, 1, 0, 60000) == 1:
            said += one.raw
        return said.decode()

    def signal(self, name):
        self.check(self.libssh.ssh_channel_request_send_signal(self.channel, name.encode()))

    def status(self):
        """Of a command that has said its last: its exit code."""
        assert self.line() == ""
        return self.libssh.ssh_channel_get_exit_status(self.channel)

    def close(self):
        if self.channel:
            self.libssh.ssh_channel_free(self.channel)
        self.libssh.ssh_disconnect(self.session)
        self.libssh.ssh_free(self.session)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
