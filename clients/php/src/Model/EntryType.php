<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

enum EntryType: string
{
    case File = 'file';
    case Directory = 'directory';
    case Symlink = 'symlink';
    case Fifo = 'fifo';
    case Socket = 'socket';
    case Device = 'device';

    /** A value that is newer than this package. */
    case Unknown = 'unknown';
}
