# SPDX-License-Identifier: GPL-2.0-or-later
"""What the stack derives from its key ring, for tests that must know or forge it."""

import base64
import hashlib
import pathlib
import struct

SESSION, AGENT = 3, 4  # enum key_purpose


class KeyRing:
    def __init__(self, stack):
        lines = pathlib.Path(stack.settings["key_file"]).read_text(encoding="utf-8").splitlines()
        words = [line.split() for line in lines if line and not line.startswith("#")]
        self.masters = {int(number): bytes.fromhex(key) for number, key in words}

    def mac(self, key_id, purpose, data):
        subkey = hashlib.blake2b(
            key=self.masters[key_id], digest_size=32,
            salt=struct.pack("<Q", purpose).ljust(16, b"\0"), person=b"sandlot1".ljust(16, b"\0"),
        ).digest()
        return hashlib.blake2b(data, key=subkey, digest_size=32).digest()

    def agent_secret(self, row):
        """Of the agent in the sandbox of this database row."""
        return self.mac(row["agent_key_id"], AGENT, row["instance_name"].encode()).hex()

    def token(self, sandbox_id, expires_at_s, key_id=None):
        key_id = key_id or max(self.masters)
        signed = struct.pack(">BHQI", 1, key_id, expires_at_s, 0) + sandbox_id.encode()
        wire = signed + self.mac(key_id, SESSION, signed)
        return "slt_" + base64.urlsafe_b64encode(wire).decode().rstrip("=")
