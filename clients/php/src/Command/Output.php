<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Command;

/** A piece of output. Its bytes can end in the middle of a line or of a character. */
final class Output
{
    public function __construct(public readonly OutputKind $kind, public readonly string $data)
    {
    }
}
