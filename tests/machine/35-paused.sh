# SPDX-License-Identifier: GPL-2.0-or-later
# A sandbox that is paused when the machine is switched off (see 40-reboot).
# short
# shellcheck shell=bash

begin stays
sandlot pause stays
