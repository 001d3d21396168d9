# SPDX-License-Identifier: GPL-2.0-or-later
# The key of the encrypted pool goes away before a reboot (see 71-key-lost).
# encrypted
# shellcheck shell=bash

begin behind
sandlot pause behind
mv /etc/sandlot/pool.key /root/pool.key
