# SPDX-License-Identifier: GPL-2.0-or-later
"""The one error of this folder: a sentence for the owner of the build."""


class Failure(Exception):
    pass
