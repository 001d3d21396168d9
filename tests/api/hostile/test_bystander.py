# SPDX-License-Identifier: GPL-2.0-or-later
"""The bystander itself, on a quiet stack: what the hostile tests compare with."""


def test_a_quiet_stack_serves_the_bystander(bystander):
    bystander.goes_on()
