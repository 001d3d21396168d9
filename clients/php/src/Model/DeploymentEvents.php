<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** Events that nobody can read yet. */
final class DeploymentEvents
{
    /** @param int $lagS How long the oldest of them has waited. */
    public function __construct(
        public readonly int $waiting,
        public readonly int $lagS,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            waiting: $fields->int('waiting'),
            lagS: $fields->int('lag_s'),
        );
    }
}
