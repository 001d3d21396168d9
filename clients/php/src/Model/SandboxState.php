<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** State of a sandbox. */
enum SandboxState: string
{
    case Creating = 'creating';
    case Ready = 'ready';
    case Restoring = 'restoring';
    case Checkpointing = 'checkpointing';
    case Stopping = 'stopping';
    case Stopped = 'stopped';
    case Copying = 'copying';

    /** A value that is newer than this package. */
    case Unknown = 'unknown';
}
