# SPDX-License-Identifier: GPL-2.0-or-later
"""A network namespace behind the host that has the sandboxes: servers of the outside world run in it."""

import ipaddress
import subprocess


def run(*command, check=True):
    return subprocess.run(command, check=check, capture_output=True, text=True).stdout


def number_of(stack):
    """Of the stack's range: stacks side by side have different ones."""
    return int(ipaddress.ip_network(stack.range).network_address) >> 16 & 255


class OutsideNetwork:
    """near, far: the addresses of its link, at the host and inside. Its names are made of the stack's NIC prefix, so
    that begin() removes what a killed run left. With a table, only packets of the sandboxes are routed there."""

    def __init__(self, stack, name, near, far, table=None):
        self.stack = stack
        self.near, self.far, self.table = near, far, table and str(table)
        self.namespace, self.link = f"sandlot-{name}-{stack.nic_prefix}", f"0{name}-{stack.nic_prefix}"

    def on_host(self, *arguments, check=True):
        """ip in the network of the host that has the sandboxes."""
        netns = self.stack.other_netns
        return run("ip", *(["-n", netns] if netns else []), *arguments, check=check)

    def in_namespace(self, *command):
        return ["ip", "netns", "exec", self.namespace, *command]

    def begin(self, addresses, networks, towards=()):
        """addresses: those inside. networks: those that the host routes there. towards: a condition of the rule."""
        self.remove()
        run("ip", "netns", "add", self.namespace)
        self.on_host("link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", self.namespace)
        self.on_host("addr", "add", f"{self.near}/31", "dev", self.link)
        self.on_host("link", "set", self.link, "up")
        for arguments in (("addr", "add", f"{self.far}/31", "dev", "eth0"), ("link", "set", "eth0", "up"),
                          ("link", "set", "lo", "up"), ("route", "add", "default", "via", self.near),
                          *(("addr", "add", f"{address}/32", "dev", "lo") for address in addresses)):
            run("ip", "-n", self.namespace, *arguments)
        table = ("table", self.table) if self.table else ()
        for network in networks:
            self.on_host("route", "add", network, "via", self.far, "dev", self.link, *table)
        if self.table:
            self.on_host("rule", "add", "from", self.stack.range, *towards, "lookup", self.table, "priority", self.table)
            run(*self.stack.on_host("sh", "-c", f"echo 2 >/proc/sys/net/ipv4/conf/{self.link}/rp_filter"))

    def remove(self):
        for pid in run("ip", "netns", "pids", self.namespace, check=False).split():
            subprocess.run(["kill", "-KILL", pid], check=False)
        while self.table and self.on_host("rule", "show", "priority", self.table, check=False).strip():
            self.on_host("rule", "del", "priority", self.table)
        if self.table:
            self.on_host("route", "flush", "table", self.table, check=False)
        self.on_host("link", "del", self.link, check=False)
        run("ip", "netns", "del", self.namespace, check=False)
