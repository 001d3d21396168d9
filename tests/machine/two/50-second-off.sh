# SPDX-License-Identifier: GPL-2.0-or-later
# The power of the other machine fails.
# second off
# shellcheck shell=bash

wait_until 300 condition_is down
refused_at_once sandlot exec -n away true
begin here
sandlot rm here
