<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

enum AuditEntryActorKind: string
{
    case Key = 'key';
    case SshKey = 'ssh_key';
    case Session = 'session';
    case Operator = 'operator';
    case Service = 'service';

    /** A value that is newer than this package. */
    case Unknown = 'unknown';
}
