# SPDX-License-Identifier: GPL-2.0-or-later
# A sandbox whose memory comes while it runs again, and that is paused when the machine is switched off (see 40-reboot).
# short
# shellcheck shell=bash

begin stays
hold_memory stays
pause_and_resume stays
holds_memory stays
sandlot pause stays
# A setting of the machine's own, which each boot applies. Doctor reports such a low value.
echo 'fs.inotify.max_user_watches = 65536' >/etc/sysctl.d/50-lower.conf
