<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/**
 * Whether the service starts again after its end: never, after a failure, or always. The first restart waits a
 * second, and each further one twice as long, up to a minute. After a run of a minute the wait is a second
 * again.
 */
enum ServiceRestart: string
{
    case No = 'no';
    case OnFailure = 'on-failure';
    case Always = 'always';

    /** A value that is newer than this package. */
    case Unknown = 'unknown';
}
