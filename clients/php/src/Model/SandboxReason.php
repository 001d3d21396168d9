<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

enum SandboxReason: string
{
    case Request = 'request';
    case Deadline = 'deadline';
    case Idleness = 'idleness';
    case Move = 'move';
    case Ended = 'ended';
    case Rebooting = 'rebooting';
    case HostLost = 'host_lost';

    /** A value that is newer than this package. */
    case Unknown = 'unknown';
}
