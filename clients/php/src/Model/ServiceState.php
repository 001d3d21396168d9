<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

enum ServiceState: string
{
    case Running = 'running';
    case Stopping = 'stopping';
    case Waiting = 'waiting';
    case Ended = 'ended';
    case Failed = 'failed';

    /** A value that is newer than this package. */
    case Unknown = 'unknown';
}
