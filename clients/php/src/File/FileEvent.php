<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\File;

/** A change in a directory. */
final class FileEvent
{
    /** @param string $name the path below the directory */
    public function __construct(public readonly string $name, public readonly FileChange $change)
    {
    }
}
