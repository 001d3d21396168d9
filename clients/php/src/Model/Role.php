<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** A viewer reads, a member also changes things, an owner also manages members. */
enum Role: string
{
    case Owner = 'owner';
    case Member = 'member';
    case Viewer = 'viewer';

    /** A value that is newer than this package. */
    case Unknown = 'unknown';
}
