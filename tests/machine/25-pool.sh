# SPDX-License-Identifier: GPL-2.0-or-later
# On an encrypted pool, what a paused sandbox has in its memory is nowhere in clear on the disk.
# short
# encrypted
# shellcheck shell=bash disable=SC2016

sandlotctl doctor | tee /tmp/doctor
grep -i 'encryption.*is encrypted' /tmp/doctor || fail "doctor does not say that the pool is encrypted"

# A text that no file and no command line has: it exists in the memory of a process, and in the sandbox's image.
begin secretive
sandlot exec -n secretive sh -c 'setsid python3 -c "
import time
text = \"-\".join([\"plain\", \"text\"] * 8).upper()
time.sleep(86400)" >/dev/null 2>&1 </dev/null &'
sleep 20
sandlot pause secretive
sync
text=$(printf 'PLAIN-TEXT-%.0s' 1 2 3 4 5 6 7 8)
[[ -n $(find /var/lib/incus -name 'pages-*.img' -exec grep -lF "${text%-}" {} +) ]] || fail "the text is not in the image"
! grep -qaF "${text%-}" /var/lib/pool.luks || fail "the text is in clear on the disk"
[[ $(sandlot resume secretive) == memory ]]
sandlot rm secretive
