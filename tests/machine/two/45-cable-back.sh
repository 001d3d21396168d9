# SPDX-License-Identifier: GPL-2.0-or-later
# The cable is back: the sandbox has run all the while.
# cable on
# shellcheck shell=bash

wait_until 300 condition_is up
wait_until 300 still_runs away
preview_answers away
pause_and_resume away
wait_until 300 well
