<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

enum HookOnFailure: string
{
    case Ignore = 'ignore';
    case Fail = 'fail';

    /** A value that is newer than this package. */
    case Unknown = 'unknown';
}
