# SPDX-License-Identifier: GPL-2.0-or-later
# A sandbox whose memory comes while it runs again, and that is paused when the machine is switched off (see 40-reboot).
# short
# shellcheck shell=bash

begin stays
hold_memory stays
pause_and_resume stays
holds_memory stays
sandlot pause stays
